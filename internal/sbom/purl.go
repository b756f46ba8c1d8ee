package sbom

import (
	"cmp"
	"regexp"
	"strings"

	packageurl "github.com/package-url/packageurl-go"
)

// purlType says how the packages of an ecosystem are written as package URLs.
type purlType struct {
	name      string
	namespace string // of packages that bring none, as a distribution's name
	separator string // between namespace and name; / when empty
	group     bool   // documents show the namespace apart from the name
	lower     bool   // names are the same in upper and lower case
}

// purlTypes knows ecosystems by the names of package URLs, of scanners and of
// OSV, in lower case.
var purlTypes = map[string]purlType{
	"npm":            {name: "npm", group: true},
	"pypi":           {name: "pypi", lower: true},
	"go":             {name: "golang"},
	"gomod":          {name: "golang"},
	"maven":          {name: "maven", separator: ":", group: true},
	"gradle":         {name: "maven", separator: ":", group: true},
	"rubygems":       {name: "gem"},
	"composer":       {name: "composer", group: true, lower: true},
	"packagist":      {name: "composer", group: true, lower: true},
	"crates.io":      {name: "cargo"},
	"pub":            {name: "pub", lower: true},
	"hex":            {name: "hex", lower: true},
	"mix":            {name: "hex", lower: true},
	"swiftpm":        {name: "swift"},
	"swifturl":       {name: "swift"},
	"conancenter":    {name: "conan"},
	"github actions": {name: "githubactions", lower: true},
	"debian":         {name: "deb", namespace: "debian", lower: true},
	"ubuntu":         {name: "deb", namespace: "ubuntu", lower: true},
	"red hat":        {name: "rpm", namespace: "redhat"},
	"alpine":         {name: "apk", namespace: "alpine", lower: true},
}

// typeOf finds an ecosystem's type: that of the table, the one of that name
// that the specification of package URLs has, or generic. A release behind a
// colon, as in Debian:12, does not matter.
func typeOf(ecosystem string) purlType {
	name, _, _ := strings.Cut(ecosystem, ":")
	name = strings.ToLower(singleLine(name))
	if t, known := purlTypes[name]; known {
		return t
	}
	if _, known := packageurl.KnownTypes[name]; known {
		return purlType{name: name}
	}
	return purlType{name: packageurl.TypeGeneric}
}

// split parts a package's name into namespace and name.
func (t purlType) split(name string) (namespace, rest string) {
	if i := strings.LastIndex(name, cmp.Or(t.separator, "/")); i > 0 && i < len(name)-1 {
		return name[:i], name[i+1:]
	}
	return t.namespace, name
}

var (
	bareGoVersion = regexp.MustCompile(`^\d+\.\d+\.\d+`)
	pypiRun       = regexp.MustCompile(`[-_.]+`)
)

// makePURL writes the package URL of a package version, whose name and version
// are single lines. It is empty for a package without a name.
func makePURL(ecosystem, name, version string) string {
	t := typeOf(ecosystem)
	p := packageurl.PackageURL{Type: t.name, Version: version}
	p.Namespace, p.Name = t.split(name)
	if t.lower {
		p.Namespace, p.Name = strings.ToLower(p.Namespace), strings.ToLower(p.Name)
	}
	if purl, ok := canonicalPURL(p); ok {
		return purl
	}
	purl, _ := canonicalPURL(packageurl.PackageURL{Type: packageurl.TypeGeneric, Name: name, Version: version})
	return purl
}

// readPURL returns the canonical form of a package URL that others wrote, or
// nothing when it is none.
func readPURL(s string) string {
	p, err := packageurl.FromString(singleLine(s))
	if err != nil {
		return ""
	}
	purl, _ := canonicalPURL(p)
	return purl
}

// canonicalPURL applies the rules of the type, those included that the library
// leaves out: runs of -, _ and . in Python names are one -, and versions of Go
// modules begin with v.
func canonicalPURL(p packageurl.PackageURL) (purl string, ok bool) {
	switch p.Type {
	case packageurl.TypePyPi:
		p.Name = pypiRun.ReplaceAllString(p.Name, "-")
	case packageurl.TypeGolang:
		if bareGoVersion.MatchString(p.Version) {
			p.Version = "v" + p.Version
		}
	}
	if err := p.Normalize(); err != nil {
		return "", false
	}
	again, err := packageurl.FromString(p.String())
	if err != nil {
		return "", false
	}
	return again.String(), true
}

// barePURL leaves out qualifiers and subpath: the package version alone, by
// which a finding names it.
func barePURL(purl string) string {
	bare, _, _ := strings.Cut(purl, "#")
	bare, _, _ = strings.Cut(bare, "?")
	return bare
}
