package lockfile

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// mavenFiles are the pom.xml files of an upload. Parents and imported bills of materials among them
// define versions. No files are downloaded.
type mavenFiles struct {
	byPath map[string]*pomFile
	byName map[string][]*pomFile // by group:artifact
	order  []*pomFile
	steps  int // files that resolve visited
}

const (
	maxMavenDepth  = 20      // of parents, nested imports and nested properties
	maxMavenSteps  = 2 << 20 // limit of steps; further versions from other files remain unknown
	maxMavenValues = 2000    // properties that one file refers to
	stepBytes      = 16      // bytes of text per step when properties are replaced
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

// resolve sets the versions of all dependencies, and refuses those without one.
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
		p.refuse(name, "line %d: its version is in a parent or imported BOM, which is not read", d.line)
	case strings.Contains(version, "${"):
		p.refuse(name, "line %d: its version %s is a property missing in this file", d.line, version)
	case strings.ContainsAny(version, "[(,"):
		p.refuse(name, "line %d: its version %s is a range", d.line, version)
	default:
		p.Add(model.Dependency{Name: name, Version: version, Line: d.line, Transitivity: model.Direct})
	}
}

// lineageOf returns the file and its ancestors in the upload, starting with the file.
func (m *mavenFiles) lineageOf(p *pomFile) []*pomFile {
	lineage := []*pomFile{p}
	for p = m.parentOf(p); p != nil && len(lineage) <= maxMavenDepth && !slices.Contains(lineage, p); p = m.parentOf(p) {
		lineage = append(lineage, p)
	}
	return lineage
}

// parentOf returns the file at the relative path of the parent if it has the parent's coordinates,
// or nil.
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

// managed returns the version that a file or its parents define for a package, or "". It includes
// their imported bills of materials.
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

// imported returns the file of the upload with the given coordinates. It returns nil if there is
// none, or more than one.
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

// name returns group:artifact as the file defines it.
func (p *pomFile) name() string {
	return p.properties["project.groupId"] + ":" + p.properties["project.artifactId"]
}

// mayBe reports whether the file may have a version. Unknown versions match any version.
func (p *pomFile) mayBe(version string) bool {
	own := p.value(0, "project.version")
	return own == version || own == "" || version == "" || strings.Contains(own+version, "${")
}

// property returns a value that the file or its parents set. Properties of profiles have the lowest
// priority, because the active profiles are unknown.
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

// fill replaces references to properties with their values. It returns the text unchanged if the
// result is longer than maxMavenText.
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

// value returns the value of a property with nested references replaced. If the property is not
// set, it returns a reference to it. Values are cached, because nested references can grow
// exponentially.
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
	p.values[name] = reference // value of references to the property within itself
	value = p.fillAt(depth+1, value)
	p.values[name] = value
	return value
}
