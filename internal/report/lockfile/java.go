package lockfile

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/report/read"
)

// readGradleLock reads gradle.lockfile: group:artifact:version=configurations.
// It does not tell what is direct. Its last line tells the configurations
// without dependencies, if only that there are none.
func readGradleLock(l *lock) error {
	whole := false
	for number, line := range l.numbered {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		coordinates, _, ok := strings.Cut(line, "=")
		switch parts := strings.Split(coordinates, ":"); {
		case ok && coordinates == "empty":
			whole = true
		case ok && len(parts) == 3 && !strings.ContainsAny(coordinates, " \t") && !slices.Contains(parts, ""):
			l.Add(redoubt.Dependency{Name: parts[0] + ":" + parts[1], Version: parts[2], Line: number})
		default:
			return read.NotA("gradle.lockfile", "line %d is not group:artifact:version=configurations", number)
		}
	}
	if !whole {
		return read.CutOff("it lacks the line that begins with empty=, with which Gradle ends every lockfile")
	}
	return nil
}

var (
	mavenTreeLine = regexp.MustCompile(`^(?:\[INFO\] )?((?:[|] {2}| {3}|\+- |\\- )*)(\S+)`)
	mavenRoot     = regexp.MustCompile(`^(?:\[INFO\] )?[^\s:]+(?::[^\s:]+){3,4}\s*$`)
	mavenLog      = regexp.MustCompile(`^\[(?:INFO|WARNING|DEBUG)\]`)
)

// readMavenTree reads the output of mvn dependency:tree, of one project or of
// several one after the other. The first line is the project,
// group:artifact:type:version; what is one step below it is direct.
func readMavenTree(l *lock) error {
	isTree := false
	var above []string // keys of the packages on the way down to the line
	for number, line := range l.numbered {
		m := mavenTreeLine.FindStringSubmatch(line)
		switch {
		case mavenRoot.MatchString(line):
			isTree = true
			continue
		case strings.TrimSpace(line) == "" || m != nil && m[1] == "" && mavenLog.MatchString(line):
			continue
		case m == nil || m[1] == "" || !isTree:
			return read.NotA("tree of Maven", "line %d is not below a line with the coordinates of a project", number)
		}
		// group:artifact:type[:classifier]:version:scope
		parts := strings.Split(m[2], ":")
		if len(parts) != 5 && len(parts) != 6 {
			l.refuse(fmt.Sprintf("line %d", number), "%s is not group:artifact:type:version:scope", read.Text(m[2]).Name())
			continue
		}
		depth := min(len(m[1])/len("+- "), len(above)+1)
		l.Node(redoubt.Dependency{
			Name: parts[0] + ":" + parts[1], Version: parts[len(parts)-2], Line: number,
			Transitivity: TransitivityOf(true, len(m[1]) == len("+- ")),
		}, m[2])
		if above = append(above[:depth-1], m[2]); depth > 1 {
			l.Ask(above[depth-2], m[2])
		}
	}
	if !isTree {
		return read.NotA("tree of Maven", "it has no line with the coordinates of a project")
	}
	return nil
}

// pomFile is what a pom.xml says by itself, without its parent or imports.
type pomFile struct {
	*lock
	properties map[string]string
	managed    map[string]string // versions by group:artifact
	wanted     []pomDependency
}

type pomDependency struct {
	group, artifact, version string
	line                     int
}

// readPOM reads the dependencies of a pom.xml, all of them direct. A version
// may be written out, come from a property or from dependencyManagement of the
// same file; any other is refused, for only Maven can know it.
func readPOM(l *lock) error {
	p := &pomFile{lock: l, properties: map[string]string{}, managed: map[string]string{}}
	if err := p.parse(); err != nil {
		return err
	}
	for _, d := range p.wanted {
		name := p.fill(d.group) + ":" + p.fill(d.artifact)
		version := p.fill(d.version)
		if version == "" {
			version = p.fill(p.managed[name])
		}
		switch {
		case version == "":
			p.refuse(name, "line %d: it has no version here; that of a parent or imported BOM is not known", d.line)
		case strings.Contains(version, "${"):
			p.refuse(name, "line %d: its version %s is a property that this file does not set", d.line, version)
		case strings.ContainsAny(version, "[(,"):
			p.refuse(name, "line %d: its version %s is a range", d.line, version)
		default:
			p.Add(redoubt.Dependency{Name: name, Version: version, Line: d.line, Transitivity: redoubt.Direct})
		}
	}
	return nil
}

// maxPOMDepth is how deep elements may nest; plugins have their own below
// configuration.
const maxPOMDepth = 100

// parse gathers texts by the path of their element.
func (p *pomFile) parse() error {
	dec := p.xml()
	var path []string
	var content strings.Builder
	var current pomDependency
	isPOM := false
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) && isPOM {
			return p.whole()
		}
		if err != nil {
			return &read.PlaceError{Offset: dec.InputOffset(), Err: err}
		}
		switch t := token.(type) {
		case xml.StartElement:
			if len(path) == 0 && isPOM {
				return &read.PlaceError{Offset: dec.InputOffset(), Err: read.ErrTrailing}
			}
			if len(path) == 0 && t.Name.Local != "project" {
				return read.NotA("pom.xml", "its root element is not project")
			}
			if len(path) > maxPOMDepth {
				return fmt.Errorf("its elements nest more than %d levels deep", maxPOMDepth)
			}
			isPOM = true
			path = append(path, t.Name.Local)
			content.Reset()
			if t.Name.Local == "dependency" {
				line, _ := dec.InputPos()
				current = pomDependency{line: line}
			}
		case xml.CharData:
			content.Write(t)
		case xml.EndElement:
			p.element(path, read.OneLine(content.String(), read.MaxName), &current)
			path = path[:len(path)-1]
			content.Reset()
		}
	}
}

// whole makes sure that it was a project of Maven: other tools have documents
// with a root of that name.
func (p *pomFile) whole() error {
	if p.properties["project.artifactId"] == "" {
		return read.NotA("pom.xml", "its project has no artifactId")
	}
	return nil
}

// element takes what a closing element held.
func (p *pomFile) element(path []string, value string, current *pomDependency) {
	name := path[len(path)-1]
	parents := strings.TrimPrefix(strings.Join(path[:len(path)-1], "/"), "project")
	parents = strings.TrimPrefix(parents, "/profiles/profile")
	switch parents {
	case "/properties":
		p.properties[name] = value
	case "", "/parent":
		if name == "version" || name == "groupId" || name == "artifactId" {
			p.coordinate(parents, name, value)
		}
	case "/dependencies/dependency", "/dependencyManagement/dependencies/dependency":
		current.set(name, value)
	case "/dependencies":
		p.wanted = append(p.wanted, *current)
	case "/dependencyManagement/dependencies":
		p.managed[p.fill(current.group)+":"+p.fill(current.artifact)] = current.version
	}
}

// coordinate makes ${project.version} and its like known; without its own, a
// project has the parent's.
func (p *pomFile) coordinate(parents, name, value string) {
	if parents == "/parent" {
		p.properties["project.parent."+name] = value
		if p.properties["project."+name] != "" {
			return
		}
	}
	p.properties["project."+name] = value
}

func (d *pomDependency) set(name, value string) {
	switch name {
	case "groupId":
		d.group = value
	case "artifactId":
		d.artifact = value
	case "version":
		d.version = value
	}
}

var pomProperty = regexp.MustCompile(`\$\{([^${}]+)\}`)

// fill puts properties in, also in the values of properties, a few levels
// deep and to a bounded length.
func (p *pomFile) fill(s string) string {
	for range 5 {
		filled := pomProperty.ReplaceAllStringFunc(s, func(reference string) string {
			if value, ok := p.properties[reference[2:len(reference)-1]]; ok {
				return value
			}
			return reference
		})
		if filled == s || len(filled) > read.MaxName {
			return read.Cut(filled, read.MaxName)
		}
		s = filled
	}
	return s
}
