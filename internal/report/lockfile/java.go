package lockfile

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"
)

// readGradleLock reads gradle.lockfile, with lines group:artifact:version=configurations. It does
// not contain the transitivity. The last line lists the configurations without dependencies and is
// always present.
func readGradleLock(l *lock) error {
	complete := false
	for number, line := range l.numbered {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		coordinates, _, ok := strings.Cut(line, "=")
		switch parts := strings.Split(coordinates, ":"); {
		case ok && coordinates == "empty":
			complete = true
		case ok && len(parts) == 3 && !strings.ContainsAny(coordinates, " \t") && !slices.Contains(parts, ""):
			l.Add(model.Dependency{Name: parts[0] + ":" + parts[1], Version: parts[2], Line: number})
		default:
			return read.NotA("gradle.lockfile", "line %d is not group:artifact:version=configurations", number)
		}
	}
	if !complete {
		return read.CutOff("it lacks the last line of Gradle, which begins with empty=")
	}
	return nil
}

var (
	mavenTreeLine = regexp.MustCompile(`^(?:\[INFO\] )?((?:[|] {2}| {3}|\+- |\\- )*)(\S+)`)
	mavenRoot     = regexp.MustCompile(`^(?:\[INFO\] )?[^\s:]+(?::[^\s:]+){3,4}\s*$`)
	mavenLog      = regexp.MustCompile(`^\[(?:INFO|WARNING|DEBUG)\]`)
)

// readMavenTree reads the output of mvn dependency:tree for one or more projects. The first line of
// a project is group:artifact:type:version. Packages one level below it are direct.
func readMavenTree(l *lock) error {
	isTree := false
	var above []string // keys of the packages on the path to the line
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
		l.Node(model.Dependency{
			Name: parts[0] + ":" + parts[1], Version: parts[len(parts)-2], Line: number,
			Transitivity: TransitivityOf(true, len(m[1]) == len("+- ")),
		}, m[2])
		if above = append(above[:depth-1], m[2]); depth > 1 {
			l.AddEdge(above[depth-2], m[2])
		}
	}
	if !isTree {
		return read.NotA("tree of Maven", "it has no line with the coordinates of a project")
	}
	return nil
}

// pomFile is a parsed pom.xml.
type pomFile struct {
	*lock
	properties, managed map[string]string // versions of managed are by group:artifact, as written
	profileProperties   map[string]string // of profiles; used only if the file does not set them elsewhere
	profileManaged      map[string]string
	imports             []pomDependency // imported bills of materials
	wanted              []pomDependency
	relativePath        string // path of the parent
	keyed               map[string]string
	values              map[string]string // cache of property values; see value
	lineage             []*pomFile        // the file, its parent and so on, as far as they are in the upload
}

type pomDependency struct {
	group, artifact, version, scope string
	line                            int
}

// readPOM reads a pom.xml. All dependencies are direct. Their versions are resolved after all files
// of the upload are read.
func readPOM(l *lock) error {
	p := &pomFile{
		lock: l, properties: map[string]string{}, managed: map[string]string{},
		profileProperties: map[string]string{}, profileManaged: map[string]string{}, relativePath: "../pom.xml",
	}
	if err := p.parse(); err != nil {
		return err
	}
	if len(p.wanted) > l.limit {
		l.full = true
		return nil
	}
	l.Data = nil // free the memory: the file is parsed
	l.upload.maven.add(p)
	return nil
}

// maxPOMDepth is the maximum nesting of elements. The configuration of plugins may nest deeply.
const maxPOMDepth = 100

// parse calls element for each element, with its path and text.
func (p *pomFile) parse() error {
	dec := p.xml()
	var path []string
	var content strings.Builder
	var current pomDependency
	isPOM := false
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) && isPOM {
			return p.validate()
		}
		if err != nil {
			return &read.PositionError{Offset: dec.InputOffset(), Err: err}
		}
		switch t := token.(type) {
		case xml.StartElement:
			if len(path) == 0 && isPOM {
				return &read.PositionError{Offset: dec.InputOffset(), Err: read.ErrTrailing}
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

// validate returns an error unless the file is a Maven project. Other tools use documents with the
// same root element.
func (p *pomFile) validate() error {
	if p.properties["project.artifactId"] == "" {
		return read.NotA("pom.xml", "its project has no artifactId")
	}
	return nil
}

// element processes the text of an element at its end.
func (p *pomFile) element(path []string, value string, current *pomDependency) {
	name := path[len(path)-1]
	parents := strings.TrimPrefix(strings.Join(path[:len(path)-1], "/"), "project")
	properties, managed := p.properties, p.managed
	if inside, ok := strings.CutPrefix(parents, "/profiles/profile"); ok {
		if parents = inside; inside == "" { // for example the id of the profile
			return
		}
		properties, managed = p.profileProperties, p.profileManaged
	}
	switch parents {
	case "/properties":
		properties[name] = value
	case "", "/parent":
		switch name {
		case "version", "groupId", "artifactId":
			p.coordinate(parents, name, value)
		case "relativePath":
			p.relativePath = value
		}
	case "/dependencies/dependency", "/dependencyManagement/dependencies/dependency":
		current.set(name, value)
	case "/dependencies":
		p.wanted = append(p.wanted, *current)
	case "/dependencyManagement/dependencies":
		if current.scope == "import" {
			p.imports = append(p.imports, *current)
			return
		}
		managed[current.group+":"+current.artifact] = current.version
	}
}

// coordinate sets properties such as ${project.version}. A project without a coordinate inherits
// its parent's.
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
	case "scope":
		d.scope = value
	}
}
