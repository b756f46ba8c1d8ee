package lockfile

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"
)

// pipFiles are the requirements files of an upload and their references to each other. A file that
// an earlier one includes is a requirements file, whatever its name.
//
// A file included with -r is part of the including file. A file referenced with -c only defines
// versions of requirements without one: a pin that no requirement uses is not a dependency.
type pipFiles struct {
	byPath map[string]*pipFile
	order  []*pipFile
	known  map[string]bool // referenced paths; true if included
	steps  int             // lines that resolve processed
}

// maxPipSteps is the number of lines after which resolve processes no further file. Each file
// processes all files that it reaches once, so that a few megabytes of mutual references would take
// hours. A thousand files that include a thousand requirements and pins each need half of the
// limit.
const maxPipSteps = 4 << 20

// pipPin is the pinned version of a package.
type pipPin struct {
	version string
	line    int
	hashes  []model.Hash
}

// pipFile is one requirements file.
type pipFile struct {
	lock   *lock
	path   string
	named  bool // whether its name is that of a lockfile
	refers []pipReference
	wants  []pipWant         // requirements without a version
	pins   map[string]pipPin // first pin by name
}

// pipReference is a line that refers to another file.
type pipReference struct {
	line       int
	constraint bool
	text       string // as written
	path       string // in the repository; empty if invalid
	fault      string // reason why the path is empty
}

// pipWant is a requirement without a version.
type pipWant struct {
	name, text string
	line       int
	satisfied  bool
}

var (
	pipOption  = regexp.MustCompile(`^(-r|-c|--requirement|--constraint)(?:\s*=\s*|\s+|)(\S.*)$`)
	pipAddress = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]+:`)
)

// pipReferenceOf parses a line that refers to another file; relative paths are resolved in folder.
func pipReferenceOf(folder, line string, number int) (r pipReference, ok bool) {
	m := pipOption.FindStringSubmatch(line)
	if m == nil || strings.HasPrefix(m[1], "--") && strings.HasPrefix(line[len(m[1]):], m[2]) {
		return r, false // such as --requirements
	}
	r = pipReference{line: number, constraint: strings.HasPrefix(strings.TrimLeft(m[1], "-"), "c"), text: line}
	name := strings.Trim(strings.TrimSpace(m[2]), `"'`)
	switch {
	case pipAddress.MatchString(name):
		r.fault = "URLs are not fetched"
	case strings.Contains(name, "${"):
		r.fault = "it depends on the environment"
	case name == "", strings.HasPrefix(name, "/"), strings.HasPrefix(name, "~"), strings.ContainsAny(name, "\\\x00"):
		r.fault = "it is not in the checkout"
	default:
		r.path = path.Join(folder, name)
		if r.path == ".." || strings.HasPrefix(r.path, "../") {
			r.path, r.fault = "", "it is outside of the checkout"
		}
	}
	return r, true
}

// PipReferences returns the paths in the repository that a requirements file refers to by -r and
// -c. A client with a checkout uploads them after the file. URLs and paths outside of the
// repository are omitted.
func PipReferences(name string, data []byte) (paths []string) {
	seen := map[string]bool{}
	for line := range strings.Lines(string(read.FromUTF16(data))) {
		line = strings.TrimSpace(comment.ReplaceAllString(strings.TrimRight(line, "\r\n"), ""))
		if r, ok := pipReferenceOf(path.Dir(name), line, 0); ok && r.path != "" && !seen[r.path] {
			seen[r.path] = true
			paths = append(paths, r.path)
		}
	}
	return paths
}

// IsRequirements reports whether a name or path is that of a requirements file of pip.
func IsRequirements(name string) bool {
	name = read.Base(name)
	return strings.HasSuffix(name, ".txt") && Ecosystem(name) == "pypi"
}

// pipKind is the format of a file that a requirements file refers to.
var pipKind = format{ecosystem: "pypi", read: readRequirements}

// add registers a requirements file of the upload.
func (p *pipFiles) add(l *lock) *pipFile {
	if p.byPath == nil {
		p.byPath, p.known = map[string]*pipFile{}, map[string]bool{}
	}
	f := &pipFile{lock: l, path: l.Path, named: formatOf(l.Name) != nil, pins: map[string]pipPin{}}
	p.byPath[f.path] = f
	p.order = append(p.order, f)
	return f
}

// drop removes a file that could not be read.
func (p *pipFiles) drop(l *lock) {
	p.order = slices.DeleteFunc(p.order, func(f *pipFile) bool {
		if f.lock == l && p.byPath[f.path] == f {
			delete(p.byPath, f.path)
		}
		return f.lock == l
	})
}

// refer records a reference of a file.
func (p *pipFiles) refer(f *pipFile, r pipReference) {
	f.refers = append(f.refers, r)
	if r.path != "" {
		p.known[r.path] = p.known[r.path] || !r.constraint
	}
}

// resolve sets the versions that constraints define after all files are read. It refuses
// requirements that still have no version.
func (p *pipFiles) resolve() {
	for _, f := range p.order {
		if !f.named && !p.known[f.path] {
			// A file that is only used with -c requires no packages.
			f.wants, f.lock.deps, f.lock.seen = nil, nil, nil
		}
	}
	for _, root := range p.order {
		if p.steps < maxPipSteps {
			p.meet(root)
		}
	}
	unmet := "its version is unknown: it is not pinned with =="
	if p.steps >= maxPipSteps {
		unmet = "its version is unknown: the files have too many references"
	}
	for _, f := range p.order {
		for _, r := range f.refers {
			if r.path != "" && p.byPath[r.path] == nil {
				r.fault = "it is not among the uploaded files"
			}
			if r.fault != "" {
				f.lock.refuse(fmt.Sprintf("line %d", r.line), "%s: %s", r.text, r.fault)
			}
		}
		for _, w := range f.wants {
			if !w.satisfied {
				f.lock.refuse(fmt.Sprintf("line %d", w.line), "%s: %s", w.text, unmet)
			}
		}
		slices.SortStableFunc(f.lock.rep.Refused, func(a, b model.Refusal) int {
			return cmp.Compare(lineItem(a.Item), lineItem(b.Item))
		})
		f.lock.rep.Inventories[0].Dependencies = f.lock.deps
	}
}

// meet sets the versions of the requirements that root reaches. If several constraints define one,
// the first is used.
func (p *pipFiles) meet(root *pipFile) {
	files, constraints := p.reach(root)
	files = slices.DeleteFunc(files, func(f *pipFile) bool { return len(f.wants) == 0 })
	if len(files) == 0 {
		return
	}
	first := map[string]*pipFile{}
	for _, c := range constraints {
		p.steps += len(c.pins)
		for name := range c.pins {
			if first[name] == nil {
				first[name] = c
			}
		}
	}
	for _, f := range files {
		p.steps += len(f.wants)
		for i := range f.wants {
			if c := first[f.wants[i].name]; c != nil {
				f.wants[i].satisfied = true
				name := f.wants[i].name
				pin := c.pins[name]
				c.lock.Add(model.Dependency{Name: name, Version: pin.version, Line: pin.line, Hashes: pin.hashes})
			}
		}
	}
}

// lineItem returns the line number in the item of a refusal.
func lineItem(item string) (line int) {
	_, _ = fmt.Sscanf(item, "line %d", &line) // items without a line are first
	return line
}

// reach returns the files reachable from root by -r, including root, and the constraints reachable
// by -c. Files included by a constraint are constraints.
func (p *pipFiles) reach(root *pipFile) (files, constraints []*pipFile) {
	seen := map[[2]any]bool{}
	var walk func(f *pipFile, constraint bool)
	walk = func(f *pipFile, constraint bool) {
		if f == nil || seen[[2]any{f, constraint}] {
			return
		}
		seen[[2]any{f, constraint}] = true
		p.steps += 1 + len(f.refers)
		if constraint {
			constraints = append(constraints, f)
		} else {
			files = append(files, f)
		}
		for _, r := range f.refers {
			if r.path != "" {
				walk(p.byPath[r.path], constraint || r.constraint)
			}
		}
	}
	walk(root, false)
	return files, constraints
}
