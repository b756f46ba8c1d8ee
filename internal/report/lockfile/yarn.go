package lockfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"
)

// readYarnLock reads yarn.lock of Yarn 1, or of later versions if it contains __metadata.
func readYarnLock(l *lock) error {
	if bytes.Contains(l.Data, []byte("\n__metadata:")) || bytes.HasPrefix(l.Data, []byte("__metadata:")) {
		return readYarnBerry(l)
	}
	return readYarnClassic(l)
}

// readYarnClassic reads the format of Yarn 1, in which entries have the descriptors that they
// satisfy as keys. It does not contain the transitivity. An empty file is a project without
// packages.
func readYarnClassic(l *lock) error {
	var current model.Dependency
	var keys []string // descriptors of the current entry
	inNeeds := false
	entries := 0
	for number, line := range l.numbered {
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case !strings.HasPrefix(line, " "):
			descriptors, ended := strings.CutSuffix(line, ":")
			descriptor, _, _ := strings.Cut(descriptors, ", ")
			descriptor = strings.Trim(descriptor, `"`)
			name, _ := splitDescriptor(descriptor)
			switch {
			case entries > 0 && current.Version == "":
				return read.CutOff("the entry on line %d has no version", current.Line)
			case !ended || name == "" || name == descriptor:
				return read.NotA("yarn.lock", "line %d is neither indented nor a package and its range", number)
			}
			l.Node(current, keys...)
			entries++
			current, inNeeds = model.Dependency{Name: name, Line: number}, false
			keys = strings.Split(strings.ReplaceAll(descriptors, `"`, ""), ", ")
		case strings.HasPrefix(line, "  ") && !strings.HasPrefix(line, "   "):
			key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			if strings.Count(value, `"`)%2 != 0 {
				return read.CutOff("the quotes on line %d are not closed", number)
			}
			value = strings.Trim(value, `"`)
			inNeeds = key == "dependencies:" || key == "optionalDependencies:"
			switch strings.Trim(key, `"`) {
			case "version":
				current.Version = value
			case "integrity":
				current.Hashes = integrityHashes(value)
			}
		case inNeeds:
			name, wanted, _ := strings.Cut(strings.TrimSpace(line), " ")
			l.AddEdge(keys[0], strings.Trim(name, `"`)+"@"+strings.Trim(wanted, `"`))
		}
	}
	switch {
	case len(bytes.TrimSpace(l.Data)) == 0:
		return nil
	case entries == 0 && !bytes.Contains(l.Data, []byte("# yarn lockfile v")):
		return read.NotA("yarn.lock", "it has neither entries nor the first comment of Yarn")
	case entries > 0 && current.Version == "":
		return read.CutOff("the entry on line %d has no version", current.Line)
	}
	l.Node(current, keys...)
	return nil
}

// yarnAlias matches a package with or without a range, but not a range alone.
var yarnAlias = regexp.MustCompile(`^(?:@[^/@]+/[^@]+|[A-Za-z][^@]*)$|.@`)

// splitDescriptor splits name@range; a scope begins with @. It returns the target of an alias such
// as name@npm:other@range or name@npm:other.
func splitDescriptor(s string) (name, wanted string) {
	i := strings.IndexByte(s[min(1, len(s)):], '@')
	if i < 0 {
		return s, ""
	}
	name, wanted = s[:i+1], s[i+2:]
	if alias, ok := strings.CutPrefix(wanted, "npm:"); ok && yarnAlias.MatchString(alias) {
		return splitDescriptor(alias)
	}
	return name, wanted
}

// readYarnBerry reads the format of Yarn 2 and later, which is YAML. Workspaces are omitted, and
// their dependencies are direct.
func readYarnBerry(l *lock) error {
	root, err := l.yaml()
	if err != nil {
		return err
	}
	direct := map[string]bool{} // descriptors
	for _, entry := range pairs(root) {
		if entry.key.Value != "__metadata" &&
			(child(entry.value, "version") == nil || child(entry.value, "linkType") == nil) {
			return read.CutOff("the entry on line %d lacks its version or linkType", entry.key.Line)
		}
		if !strings.Contains(scalar(child(entry.value, "resolution")), "@workspace:") {
			continue
		}
		for _, list := range []string{"dependencies", "devDependencies", "optionalDependencies"} {
			for _, d := range pairs(child(entry.value, list)) {
				wanted := scalar(d.value)
				direct[d.key.Value+"@"+wanted] = true
				direct[d.key.Value+"@npm:"+wanted] = true // before version 8 of the format
			}
		}
	}
	for _, entry := range pairs(root) {
		name, reference := splitResolution(scalar(child(entry.value, "resolution")))
		if name == "" || strings.HasPrefix(reference, "workspace:") || strings.HasPrefix(reference, "patch:") {
			continue
		}
		isDirect := false
		descriptors := strings.Split(entry.key.Value, ", ")
		for _, descriptor := range descriptors {
			isDirect = isDirect || direct[descriptor]
		}
		l.Node(model.Dependency{
			Name: name, Version: scalar(child(entry.value, "version")), Line: entry.key.Line,
			Transitivity: TransitivityOf(len(direct) > 0, isDirect),
		}, descriptors...)
		for _, d := range pairs(child(entry.value, "dependencies")) {
			l.AddEdge(descriptors[0], d.key.Value+"@"+scalar(d.value))
			l.AddEdge(descriptors[0], d.key.Value+"@npm:"+scalar(d.value)) // before version 8 of the format
		}
	}
	return nil
}

// splitResolution splits name@protocol:reference.
func splitResolution(s string) (name, reference string) {
	i := strings.IndexByte(s[min(1, len(s)):], '@')
	if i < 0 {
		return "", ""
	}
	return s[:i+1], s[i+2:]
}

// maxYAML is the maximum size of a YAML lockfile, because the parsed tree needs a multiple of its
// memory.
const maxYAML = 16 << 20

// maxDocuments limits the YAML documents of one file; pnpm writes two.
const maxDocuments = 10

// yaml returns the root mapping of a file with one YAML document.
func (l *lock) yaml() (*yaml.Node, error) {
	documents, err := l.documents()
	if err != nil {
		return nil, err
	}
	return l.only(documents)
}

// only returns the root mapping of the only document that is not empty.
func (l *lock) only(documents []*yaml.Node) (*yaml.Node, error) {
	documents = slices.DeleteFunc(slices.Clone(documents), isEmptyYAML)
	switch {
	case len(documents) == 0:
		return nil, errNoMapping
	case len(documents) > 1:
		return nil, fmt.Errorf("the file has several YAML documents, the second on line %d: only one is supported",
			documents[1].Line)
	}
	return documents[0], nil
}

var errNoMapping = errors.New("expected a mapping at the top of the file")

// documents parses the file and returns the root of each YAML document: a mapping, or null for an
// empty document.
func (l *lock) documents() ([]*yaml.Node, error) {
	if len(l.Data) > maxYAML {
		return nil, fmt.Errorf("the YAML file is %w (limit %d bytes)", model.ErrTooLarge, maxYAML)
	}
	var roots []*yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(l.Data))
	for {
		var doc yaml.Node
		err := decoder.Decode(&doc)
		switch {
		case errors.Is(err, io.EOF):
			return roots, nil
		case err != nil:
			return nil, errors.New("it is not YAML: " + read.OneLine(strings.TrimPrefix(err.Error(), "yaml: "), read.MaxName))
		case len(roots) == maxDocuments:
			return nil, fmt.Errorf("the file has more than %d YAML documents", maxDocuments)
		case len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode && !isEmptyYAML(doc.Content[0]):
			return nil, errNoMapping
		}
		roots = append(roots, doc.Content[0])
	}
}

// isEmptyYAML reports whether a document is empty or contains only comments.
func isEmptyYAML(root *yaml.Node) bool { return root.Kind == yaml.ScalarNode && root.Tag == "!!null" }

// pair is a member of a mapping.
type pair struct{ key, value *yaml.Node }

// pairs returns the members of a mapping, and none for other nodes. Aliases are ignored: lockfiles
// do not use them, and malicious files could use them to exhaust memory.
func pairs(n *yaml.Node) []pair {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	out := make([]pair, 0, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		out = append(out, pair{n.Content[i], n.Content[i+1]})
	}
	return out
}

// child returns a member of a mapping, or nil.
func child(n *yaml.Node, name string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}

// scalar returns the text of a scalar, or "" for other nodes.
func scalar(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return ""
	}
	return n.Value
}
