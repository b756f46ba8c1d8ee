package lockfile

import (
	"bytes"
	"cmp"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"
)

// readPackageResolved reads Package.resolved of versions 1 to 3. The name of a package is its
// repository, such as github.com/apple/swift-nio, as in package URLs and advisories. A pin to a
// branch or revision has no version.
func readPackageResolved(l *lock) error {
	w := newObjectWalker(l.Data)
	hasPins := false
	pins := func(name string, _ int) error {
		if name != "pins" {
			return w.skip()
		}
		hasPins = true
		return w.array(l.pin)
	}
	err := w.object(func(name string, offset int) error {
		if name == "object" { // version 1
			return w.object(pins)
		}
		return pins(name, offset)
	})
	switch {
	case err != nil:
		return err
	case !hasPins:
		return read.NotA("Package.resolved", "it has no list of pins")
	}
	return w.end()
}

func (l *lock) pin(raw []byte, offset int) {
	var p struct {
		Identity   read.Text `json:"identity"`
		Package    read.Text `json:"package"`
		Location   read.Text `json:"location"`
		Repository read.Text `json:"repositoryURL"`
		State      struct {
			Version read.Text `json:"version"`
		} `json:"state"`
	}
	read.Loosely(raw, &p)
	name := cmp.Or(repositoryName(string(cmp.Or(p.Location, p.Repository))), string(cmp.Or(p.Identity, p.Package)))
	at := bytes.IndexByte(raw, '"')
	if p.State.Version == "" {
		l.refuse(cmp.Or(name, "pins"), "its version is unknown: it is pinned to a branch or revision")
		return
	}
	l.Add(model.Dependency{Name: name, Version: string(p.State.Version), Line: l.lineAt(offset + max(at, 0))})
}

// repositoryName returns an address without scheme, user and .git.
func repositoryName(address string) string {
	_, name, ok := strings.Cut(address, "://")
	if !ok {
		if _, name, ok = strings.Cut(address, "@"); !ok { // git@host:path
			return ""
		}
		name = strings.Replace(name, ":", "/", 1)
	}
	if i := strings.IndexByte(name, '@'); i >= 0 && i < strings.IndexByte(name+"/", '/') {
		name = name[i+1:]
	}
	return strings.TrimSuffix(strings.TrimSuffix(name, "/"), ".git")
}

var pod = regexp.MustCompile(`^([^\s/]+)\S*(?: \((?:[=~<>! ]*)([^),]+).*\))?`)

// readPodfileLock reads Podfile.lock. Subspecs count as their pod, and pods in local folders are
// omitted.
func readPodfileLock(l *lock) error {
	root, err := l.yaml()
	if err != nil {
		return err
	}
	direct, own := map[string]bool{}, map[string]bool{}
	if wanted := child(root, "DEPENDENCIES"); wanted != nil && wanted.Kind == yaml.SequenceNode {
		for _, n := range wanted.Content {
			if m := pod.FindStringSubmatch(scalar(n)); m != nil {
				direct[m[1]] = true
			}
		}
	}
	for _, source := range pairs(child(root, "EXTERNAL SOURCES")) {
		own[source.key.Value] = child(source.value, ":path") != nil
	}
	if child(root, "COCOAPODS") == nil {
		if child(root, "PODS") == nil && child(root, "PODFILE CHECKSUM") == nil {
			return read.NotA("Podfile.lock", "it has neither PODS nor COCOAPODS")
		}
		return read.CutOff("it has no line COCOAPODS, which is the last")
	}
	list := child(root, "PODS")
	if list == nil || list.Kind != yaml.SequenceNode {
		return nil
	}
	for _, n := range list.Content {
		var needs []*yaml.Node
		if n.Kind == yaml.MappingNode && len(n.Content) > 1 {
			n, needs = n.Content[0], n.Content[1].Content // a pod with its dependencies
		}
		m := pod.FindStringSubmatch(scalar(n))
		if m == nil || own[m[1]] {
			continue
		}
		l.Node(model.Dependency{
			Name: m[1], Version: m[2], Line: n.Line, Transitivity: TransitivityOf(len(direct) > 0, direct[m[1]]),
		}, m[1])
		for _, to := range needs {
			if needed := pod.FindStringSubmatch(scalar(to)); needed != nil {
				l.AddEdge(m[1], needed[1])
			}
		}
	}
	return nil
}
