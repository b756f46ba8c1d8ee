package lockfile

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// mavenFiles are the pom.xml files of an upload. Parents and imported bills of materials
// among them set versions, as they do for Maven; nothing is fetched.
type mavenFiles struct {
	byPath map[string]*pomFile
	byName map[string][]*pomFile // by group:artifact
	order  []*pomFile
	steps  int // taken by resolve: files looked at for a version
}

const (
	maxMavenDepth  = 20      // of parents, of imports within imports, and of properties in properties
	maxMavenSteps  = 2 << 20 // after which versions of other files stay unknown
	maxMavenValues = 2000    // of properties that one file refers to
	stepBytes      = 16      // of a text to fill that count as a step
	maxMavenText   = 256     // bytes
)

func (m *mavenFiles) add(p *pomFile) {
	if m.byPath == nil {
		m.byPath, m.byName = map[string]*pomFile{}, map[string][]*pomFile{}
	}
	m.byPath[p.Path] = p
	m.order = append(m.order, p)
	m.byName[p.name()] = append(m.byName[p.name()], p)
}

// resolve finds the versions of all dependencies, and refuses those without one.
func (m *mavenFiles) resolve() {
	for _, p := range m.order {
		p.lineage, p.values = m.lineageOf(p), nil
	}
	for _, p := range m.order {
		p.keyed = map[string]string{}
		for _, managed := range []map[string]string{p.profileManaged, p.managed} {
			for _, key := range slices.Sorted(maps.Keys(managed)) {
				p.keyed[p.fill(key)] = managed[key]
			}
		}
	}
	for _, p := range m.order {
		for _, d := range p.wanted {
			m.depend(p, d)
		}
		p.rep.Inventories[0].Dependencies = p.deps
	}
}

func (m *mavenFiles) depend(p *pomFile, d pomDependency) {
	name := p.fill(d.group) + ":" + p.fill(d.artifact)
	version := p.fill(d.version)
	if version == "" {
		version = m.managed(p, name)
	}
	switch {
	case version == "":
		p.refuse(name, "line %d: it has no version here; that of a parent or imported BOM is not known", d.line)
	case strings.Contains(version, "${"):
		p.refuse(name, "line %d: its version %s is a property that this file does not set", d.line, version)
	case strings.ContainsAny(version, "[(,"):
		p.refuse(name, "line %d: its version %s is a range", d.line, version)
	default:
		p.Add(model.Dependency{Name: name, Version: version, Line: d.line, Transitivity: model.Direct})
	}
}

// lineageOf returns the file, its parent in the upload, the parent of that and so on.
func (m *mavenFiles) lineageOf(p *pomFile) []*pomFile {
	lineage := []*pomFile{p}
	for p = m.parentOf(p); p != nil && len(lineage) <= maxMavenDepth && !slices.Contains(lineage, p); p = m.parentOf(p) {
		lineage = append(lineage, p)
	}
	return lineage
}

// parentOf returns the file at the relative path of the parent if it has the coordinates of
// the parent, or nil.
func (m *mavenFiles) parentOf(p *pomFile) *pomFile {
	if p.relativePath == "" || p.properties["project.parent.artifactId"] == "" {
		return nil
	}
	at := path.Join(path.Dir(p.Path), p.relativePath)
	parent := m.byPath[at]
	if parent == nil {
		parent = m.byPath[path.Join(at, "pom.xml")]
	}
	name := p.properties["project.parent.groupId"] + ":" + p.properties["project.parent.artifactId"]
	if parent == nil || parent.name() != name || !parent.mayBe(p.properties["project.parent.version"]) {
		return nil
	}
	return parent
}

// managed returns the version that a file or its parents set for a package, or that a bill of
// materials sets that one of them imports; an empty string for none.
func (m *mavenFiles) managed(p *pomFile, name string) string {
	return m.managedBelow(p, name, map[*pomFile]bool{}, 0)
}

func (m *mavenFiles) managedBelow(p *pomFile, name string, seen map[*pomFile]bool, depth int) string {
	if seen[p] || depth > maxMavenDepth || m.steps > maxMavenSteps {
		return ""
	}
	seen[p] = true
	m.steps += len(p.lineage)
	for _, f := range p.lineage {
		if version := f.keyed[name]; version != "" {
			m.steps += len(version) / stepBytes
			return p.fill(version)
		}
	}
	for _, f := range p.lineage {
		for _, i := range f.imports {
			m.steps += 1 + len(i.group+i.artifact+i.version)/stepBytes
			bom := m.imported(p.fill(i.group)+":"+p.fill(i.artifact), p.fill(i.version))
			if bom == nil {
				continue
			}
			if version := m.managedBelow(bom, name, seen, depth+1); version != "" {
				return version
			}
		}
	}
	return ""
}

// imported returns the file of the upload with these coordinates, or nil if there is none or
// there are several.
func (m *mavenFiles) imported(name, version string) *pomFile {
	var found *pomFile
	for _, p := range m.byName[name] {
		m.steps++
		if !p.mayBe(version) {
			continue
		}
		if found != nil {
			return nil
		}
		found = p
	}
	return found
}

// name returns group:artifact, by what the file itself says.
func (p *pomFile) name() string {
	return p.properties["project.groupId"] + ":" + p.properties["project.artifactId"]
}

// mayBe reports whether the file may be of a version; versions with properties that are not
// known may be any.
func (p *pomFile) mayBe(version string) bool {
	own := p.value(0, "project.version")
	return own == version || own == "" || version == "" || strings.Contains(own+version, "${")
}

// property returns what the file or its parents set; their profiles come last, since it is
// not known which are active.
func (p *pomFile) property(name string) (value string, ok bool) {
	lineage := p.lineage
	if lineage == nil {
		lineage = []*pomFile{p}
	}
	for _, f := range lineage {
		if value, ok = f.properties[name]; ok {
			return value, true
		}
	}
	for _, f := range lineage {
		if value, ok = f.profileProperties[name]; ok {
			return value, true
		}
	}
	return "", false
}

var pomProperty = regexp.MustCompile(`\$\{([^${}]+)\}`)

// fill replaces references to properties by their values. A text that would grow beyond
// maxMavenText stays as it is.
func (p *pomFile) fill(s string) string { return p.fillAt(0, s) }

func (p *pomFile) fillAt(depth int, s string) string {
	if !strings.Contains(s, "${") {
		return s
	}
	length := 0
	filled := pomProperty.ReplaceAllStringFunc(s, func(reference string) string {
		if length > maxMavenText {
			return ""
		}
		value := p.value(depth, reference[2:len(reference)-1])
		length += len(value)
		return value
	})
	if length > maxMavenText || len(filled) > maxMavenText {
		return s
	}
	return filled
}

// value returns the value of a property with the properties in it replaced, or a reference
// to the property where it has none. Each is computed once: values may multiply.
func (p *pomFile) value(depth int, name string) string {
	if value, ok := p.values[name]; ok {
		return value
	}
	reference := "${" + name + "}"
	value, ok := p.property(name)
	if !ok || depth >= maxMavenDepth || len(p.values) >= maxMavenValues {
		return reference
	}
	if p.values == nil {
		p.values = map[string]string{}
	}
	p.values[name] = reference // within itself
	value = p.fillAt(depth+1, value)
	p.values[name] = value
	return value
}
