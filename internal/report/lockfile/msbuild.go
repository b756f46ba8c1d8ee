package lockfile

import (
	"cmp"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"
)

// msbuildFile is a project file, or a file with versions for several projects.
type msbuildFile struct {
	*lock
	properties map[string]string
	wanted     []model.Dependency
}

// readMSBuild reads the packages that a .NET project requires. All are direct, and NuGet uses the
// specified version. Packages without a version have it in Directory.Packages.props.
func readMSBuild(l *lock) error {
	m := &msbuildFile{lock: l, properties: map[string]string{}}
	if err := m.parse(); err != nil {
		return err
	}
	for _, d := range m.wanted {
		version := msbuildProperty.ReplaceAllStringFunc(strings.TrimSpace(d.Version), func(s string) string {
			return cmp.Or(m.properties[strings.ToLower(s[2:len(s)-1])], s)
		})
		if exact := msbuildExact.FindStringSubmatch(version); exact != nil {
			version = exact[1]
		}
		switch {
		case version == "":
			continue
		case strings.Contains(version, "$("):
			l.refuse(d.Name, "line %d: its version %s is a property missing in this file",
				d.Line, read.Text(version).Name())
		case strings.ContainsAny(version, "[](),*"):
			l.refuse(d.Name, "line %d: its version %s is a range", d.Line, read.Text(version).Name())
		default:
			d.Version = version
			l.Add(d)
		}
	}
	return nil
}

var (
	msbuildProperty = regexp.MustCompile(`\$\([A-Za-z_][A-Za-z0-9_.-]*\)`)
	msbuildExact    = regexp.MustCompile(`^\[\s*([^\[\](),\s]+)\s*\]$`)
	msbuildItems    = map[string]bool{"PackageReference": true, "PackageVersion": true, "GlobalPackageReference": true}
)

// parse collects properties and references.
func (m *msbuildFile) parse() error {
	dec := m.xml()
	var path []string
	var content strings.Builder
	isProject := false
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) && isProject {
			return nil
		}
		if err != nil {
			return &read.PositionError{Offset: dec.InputOffset(), Err: err}
		}
		switch t := token.(type) {
		case xml.StartElement:
			if len(path) == 0 && (isProject || t.Name.Local != "Project") {
				return read.NotA("project of MSBuild", "its root element is not Project, once")
			}
			if len(path) > maxPOMDepth {
				return read.NotA("project of MSBuild", "its elements nest more than %d levels deep", maxPOMDepth)
			}
			isProject = true
			path = append(path, t.Name.Local)
			content.Reset()
			if msbuildItems[t.Name.Local] {
				line, _ := dec.InputPos()
				m.reference(t, line)
			}
		case xml.CharData:
			content.Write(t)
		case xml.EndElement:
			m.element(path, read.OneLine(content.String(), read.MaxName))
			path = path[:len(path)-1]
			content.Reset()
		}
	}
}

func (m *msbuildFile) reference(t xml.StartElement, line int) {
	m.wanted = append(m.wanted, model.Dependency{
		Name: cmp.Or(attribute(t, "Include"), attribute(t, "Update")), Line: line, Transitivity: model.Direct,
		Version: cmp.Or(attribute(t, "VersionOverride"), attribute(t, "Version")),
	})
}

// element processes the text of an element at its end.
func (m *msbuildFile) element(path []string, value string) {
	if len(path) < 2 {
		return
	}
	name, parent := path[len(path)-1], path[len(path)-2]
	switch {
	case parent == "PropertyGroup":
		m.properties[strings.ToLower(name)] = value
	case msbuildItems[parent] && (name == "Version" || name == "VersionOverride"):
		m.wanted[len(m.wanted)-1].Version = value
	}
}
