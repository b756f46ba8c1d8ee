package lockfile

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/purl"
	"github.com/redoubt/redoubt/internal/report/read"
)

var (
	requirement = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*(.*)$`)
	wanted      = regexp.MustCompile(`^(?:$|\(|[=~<>!]=|[<>])`)
	option      = regexp.MustCompile(`^-(?:-[a-z]|[a-z]\b)`)
	address     = regexp.MustCompile(`^(?:[A-Za-z][A-Za-z0-9+.-]*://\S|\.{0,2}[/\\]\S|[A-Za-z]:[/\\]|\S+\.(?:whl|zip|tar\.gz|tgz)$|\.$)`)
	pinned      = regexp.MustCompile(`^={2,3}\s*([^\s,;)]+)$`)
	wheelFile   = regexp.MustCompile(`^([A-Za-z0-9._]+)-([0-9][^-]*)(?:-[0-9][^-]*)?-[^-]+-[^-]+-[^-]+\.whl$`)
	sourceFile  = regexp.MustCompile(`^(.+)-([0-9][^-]*)\.(?:tar\.gz|tar\.bz2|tgz|zip)$`)
	hashOption  = regexp.MustCompile(`--hash[= ](sha\d+):([0-9a-fA-F]+)`)
	comment     = regexp.MustCompile(`(^|\s)#.*$`)
	viaRoot     = regexp.MustCompile(`(?:^|\s)(?:-r\s+\S+|\S+\s*\(pyproject\.toml\)|\S+\s*\(setup\.(?:py|cfg)\))`)
)

// readRequirements reads requirements files. Only pinned requirements have a version; others are
// refused with a reason unless a constraint defines the version. Files referenced with -r and -c
// are part of the same upload, see pipFiles; other options are ignored.
//
// Comments of pip-compile and uv name the origin of each line. Only files with these comments
// contain the transitivity.
//
// A single unknown line is refused. A file with mostly unknown lines is an error.
func readRequirements(l *lock) error {
	r := requirements{lock: l, pip: l.upload.pip.add(l)}
	for number, line := range l.numbered {
		r.line(number, line)
	}
	if r.continues {
		return read.CutOff("its last line has a continuation mark")
	}
	r.flush()
	if r.strange > r.understood {
		return read.NotA("requirements file", "line %d and %d others are neither requirements, options nor URLs",
			r.firstStrange, r.strange-1)
	}
	if r.annotated {
		for i := range l.deps {
			l.deps[i].Transitivity = TransitivityOf(true, r.direct[l.deps[i].Name])
		}
	}
	return nil
}

// requirements joins the physical lines of a requirement with its hashes and the comments that
// follow it.
type requirements struct {
	*lock
	pip       *pipFile
	number    int
	logical   strings.Builder
	continues bool
	current   string // name of the last requirement, for its comments
	inVia     bool
	annotated bool
	direct    map[string]bool

	understood   int // requirements, options and URLs, pinned or not
	strange      int // other lines
	firstStrange int // line number of the first
}

func (r *requirements) line(number int, line string) {
	if note, ok := strings.CutPrefix(strings.TrimSpace(line), "#"); ok && !r.continues {
		r.flush()
		r.comment(note)
		return
	}
	if !r.continues {
		r.flush()
		r.number = number
	}
	if _, note, found := strings.Cut(line, "# via"); found && !r.continues {
		defer func() { r.flush(); r.comment(" via" + note) }()
	}
	line = comment.ReplaceAllString(line, "")
	stripped := strings.TrimRight(line, " \t")
	r.continues = strings.HasSuffix(stripped, `\`)
	r.logical.WriteString(strings.TrimSuffix(stripped, `\`) + " ")
}

// comment parses "via -r requirements.in", "via flask", and lists of these on the following lines.
func (r *requirements) comment(note string) {
	note = strings.TrimSpace(note)
	if via, ok := strings.CutPrefix(note, "via"); ok {
		note, r.inVia = via, true
	}
	if !r.inVia || r.current == "" {
		return
	}
	r.annotated = true
	if viaRoot.MatchString(note) {
		if r.direct == nil {
			r.direct = map[string]bool{}
		}
		r.direct[r.current] = true
	} else if m := requirement.FindStringSubmatch(strings.TrimSpace(note)); m != nil {
		r.AddEdge(purl.PyPIName(m[1]), r.current)
	}
}

// flush processes a complete requirement.
func (r *requirements) flush() {
	line := strings.TrimSpace(r.logical.String())
	r.logical.Reset()
	r.continues = false
	if line == "" {
		return
	}
	r.current, r.inVia = "", false
	if ref, ok := pipReferenceOf(path.Dir(r.pip.path), line, r.number); ok {
		r.understood++
		r.upload.pip.refer(r.pip, ref)
		return
	}
	if option.MatchString(line) {
		r.understood++
		if strings.HasPrefix(line, "-e") || strings.HasPrefix(line, "--editable") {
			r.unpinned(line, "an editable install has no version")
		}
		return
	}
	var hashes []model.Hash
	for _, m := range hashOption.FindAllStringSubmatch(line, read.MaxList) {
		hashes = append(hashes, model.Hash{Algorithm: read.HashName(m[1]), Hex: strings.ToLower(m[2])})
	}
	line, _, _ = strings.Cut(line, " --")
	line, _, _ = strings.Cut(line, ";") // remove the environment marker
	line = strings.TrimSpace(line)
	m := requirement.FindStringSubmatch(line)
	switch {
	case m != nil && strings.HasPrefix(m[2], "@"):
		r.understood++
		r.archive(line, purl.PyPIName(m[1]), strings.TrimSpace(m[2][1:]), hashes)
		return
	case address.MatchString(line):
		r.understood++
		r.archive(line, "", line, hashes)
		return
	case m == nil, !wanted.MatchString(m[2]):
		if r.strange++; r.strange == 1 {
			r.firstStrange = r.number
		}
		r.unpinned(line, "it is not a requirement")
		return
	}
	r.understood++
	version := pinnedVersion(m[2])
	if version == "" {
		r.pip.wants = append(r.pip.wants, pipWant{name: purl.PyPIName(m[1]), text: line, line: r.number})
		return
	}
	r.pin(purl.PyPIName(m[1]), version, hashes)
}

// pinnedVersion returns the single version that a list of constraints pins, or "".
func pinnedVersion(constraints string) (version string) {
	constraints = strings.TrimSpace(constraints)
	if inside, ok := strings.CutPrefix(constraints, "("); ok {
		constraints = strings.TrimSuffix(inside, ")")
	}
	for constraint := range strings.SplitSeq(constraints, ",") {
		m := pinned.FindStringSubmatch(strings.TrimSpace(constraint))
		if m == nil || strings.HasSuffix(m[1], "*") {
			continue
		}
		if version != "" && version != m[1] {
			return ""
		}
		version = m[1]
	}
	return version
}

// archive adds the package of a URL, with the version in the file name of the wheel or source
// archive. If name is empty, the name is from the file name as well.
func (r *requirements) archive(line, name, where string, hashes []model.Hash) {
	where, _, _ = strings.Cut(where, "#")
	where, _, _ = strings.Cut(where, "?")
	file := path.Base(strings.ReplaceAll(where, `\`, "/"))
	if decoded, err := url.PathUnescape(file); err == nil {
		file = decoded
	}
	m := wheelFile.FindStringSubmatch(file)
	if m == nil {
		m = sourceFile.FindStringSubmatch(file)
	}
	if m == nil || name != "" && name != purl.PyPIName(m[1]) {
		r.unpinned(line, "its file name has no version")
		return
	}
	r.pin(purl.PyPIName(m[1]), m[2], hashes)
}

// pin adds a package with its version.
func (r *requirements) pin(name, version string, hashes []model.Hash) {
	r.current = name
	d := model.Dependency{Name: name, Version: version, Line: r.number, Hashes: hashes}
	if _, pinned := r.pip.pins[d.Name]; !pinned {
		r.pip.pins[d.Name] = pipPin{d.Version, d.Line, d.Hashes}
	}
	r.Node(d, r.current)
}

func (r *requirements) unpinned(line, why string) {
	r.refuse(fmt.Sprintf("line %d", r.number), "%s: %s", strings.TrimSpace(line), why)
}

// prefixedHash parses "sha256:0123…".
func prefixedHash(s string) (model.Hash, bool) {
	algorithm, sum, ok := strings.Cut(strings.TrimSpace(s), ":")
	if !ok || !read.IsHex(sum) {
		return model.Hash{}, false
	}
	return model.Hash{Algorithm: read.HashName(read.Text(algorithm).Name()), Hex: strings.ToLower(sum)}, true
}

// prefixedHashes parses a list of "sha256:0123…".
func prefixedHashes(list []string) []model.Hash {
	var out []model.Hash
	for _, s := range list[:min(len(list), read.MaxList)] {
		if h, ok := prefixedHash(s); ok {
			out = append(out, h)
		}
	}
	return out
}

// readPipfileLock reads Pipfile.lock, which does not contain the transitivity.
func readPipfileLock(l *lock) error {
	w := newObjectWalker(l.Data)
	has := map[string]bool{}
	err := w.object(func(group string, _ int) error {
		has[group] = true
		if group == "_meta" {
			return w.skip()
		}
		return w.object(func(name string, offset int) error {
			var p struct {
				Version read.Text       `json:"version"`
				Hashes  read.Texts      `json:"hashes"`
				Git     json.RawMessage `json:"git"`
			}
			if err := w.decode(&p); err != nil {
				return err
			}
			version, ok := strings.CutPrefix(strings.TrimSpace(string(p.Version)), "==")
			if !ok {
				l.refuse(group+"."+name, "its version is unknown: it is not pinned with ==")
				return nil
			}
			l.Add(model.Dependency{
				Name: purl.PyPIName(name), Version: version, Line: l.lineAt(offset), Hashes: prefixedHashes(p.Hashes),
			})
			return nil
		})
	})
	if err != nil {
		return err
	}
	if !has["_meta"] || !has["default"] {
		return read.NotA("Pipfile.lock", "it lacks _meta or default")
	}
	return w.end()
}

// readPoetryLock reads poetry.lock and pdm.lock. Direct packages are only in pyproject.toml.
func readPoetryLock(l *lock) error {
	var file struct {
		Packages []struct {
			Name         string
			Version      string
			Files        []struct{ Hash string }
			Dependencies any // Poetry: by name; PDM: requirements
		} `toml:"package"`
		Metadata struct {
			Poetry  string                             `toml:"content-hash"`
			PDM     string                             `toml:"content_hash"`
			Version string                             `toml:"lock_version"` // PDM writes it too
			Files   map[string][]struct{ Hash string } // before Poetry 1.5
		}
	}
	if err := l.toml(&file); err != nil {
		return err
	}
	if m := file.Metadata; m.Poetry == "" && m.PDM == "" && m.Version == "" {
		if len(file.Packages) > 0 {
			return read.CutOff("its metadata lacks content-hash, the last member of Poetry")
		}
		return read.NotA(read.Base(l.Name), "it has neither packages nor a content-hash")
	}
	lines := l.nameLines("[[package]]")
	for i, p := range file.Packages {
		if p.Name == "" || p.Version == "" {
			return read.CutOff("package %d lacks its name or version", i+1)
		}
		files := p.Files
		if len(files) == 0 {
			files = file.Metadata.Files[p.Name]
		}
		var hashes []string
		for _, f := range files {
			hashes = append(hashes, f.Hash)
		}
		name := purl.PyPIName(p.Name)
		l.Node(model.Dependency{
			Name: name, Version: p.Version, Line: lineOf(lines, i), Hashes: prefixedHashes(hashes),
		}, name)
		for _, to := range requiredNames(p.Dependencies) {
			l.AddEdge(name, to)
		}
	}
	return nil
}

// requiredNames returns the packages that an entry of poetry.lock or pdm.lock requires.
func requiredNames(dependencies any) (names []string) {
	switch list := dependencies.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(list)) {
			names = append(names, purl.PyPIName(name))
		}
	case []any:
		for _, item := range list {
			text, _ := item.(string)
			if m := requirement.FindStringSubmatch(text); m != nil {
				names = append(names, purl.PyPIName(m[1]))
			}
		}
	}
	return names
}
