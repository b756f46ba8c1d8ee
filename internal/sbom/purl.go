package sbom

import (
	"regexp"
	"strings"

	packageurl "github.com/package-url/packageurl-go"
)

// purlType says how the packages of an ecosystem are written as package URLs.
type purlType struct {
	name      string
	namespace string // of all packages, as a distribution's name
	separator string // between a package's own namespace and name; empty for none
	group     bool   // documents show the namespace apart from the name
	lower     bool   // names are the same in upper and lower case
}

// purlTypes knows ecosystems by the names of package URLs, of scanners and of
// OSV, in lower case. Types whose URLs need what no lockfile tells are missing:
// those packages become pkg:generic.
var purlTypes = map[string]purlType{
	"npm":            {name: "npm", separator: "/", group: true},
	"pypi":           {name: "pypi", lower: true},
	"go":             {name: "golang", separator: "/"},
	"gomod":          {name: "golang", separator: "/"},
	"golang":         {name: "golang", separator: "/"},
	"maven":          {name: "maven", separator: ":", group: true},
	"gradle":         {name: "maven", separator: ":", group: true},
	"gem":            {name: "gem"},
	"rubygems":       {name: "gem"},
	"nuget":          {name: "nuget"},
	"composer":       {name: "composer", separator: "/", group: true, lower: true},
	"packagist":      {name: "composer", separator: "/", group: true, lower: true},
	"cargo":          {name: "cargo"},
	"crates.io":      {name: "cargo"},
	"pub":            {name: "pub", lower: true},
	"hex":            {name: "hex", separator: "/", lower: true},
	"mix":            {name: "hex", separator: "/", lower: true},
	"swift":          {name: "swift", separator: "/"},
	"swiftpm":        {name: "swift", separator: "/"},
	"swifturl":       {name: "swift", separator: "/"},
	"conan":          {name: "conan"},
	"conancenter":    {name: "conan"},
	"cran":           {name: "cran"},
	"hackage":        {name: "hackage"},
	"conda":          {name: "conda"},
	"github actions": {name: "githubactions", separator: "/", lower: true},
	"githubactions":  {name: "githubactions", separator: "/", lower: true},
	"deb":            {name: "deb", lower: true},
	"debian":         {name: "deb", namespace: "debian", lower: true},
	"ubuntu":         {name: "deb", namespace: "ubuntu", lower: true},
	"rpm":            {name: "rpm"},
	"red hat":        {name: "rpm", namespace: "redhat"},
	"apk":            {name: "apk", lower: true},
	"alpine":         {name: "apk", namespace: "alpine", lower: true},
}

var generic = purlType{name: "generic"}

// typeOf finds an ecosystem's type. A release behind a colon, as in Debian:12,
// does not matter.
func typeOf(ecosystem string) purlType {
	name, _, _ := strings.Cut(ecosystem, ":")
	if t, known := purlTypes[strings.ToLower(line(name))]; known {
		return t
	}
	return generic
}

// split parts a package's name into namespace and name.
func (t purlType) split(name string) (namespace, rest string) {
	if i := strings.LastIndex(name, t.separator); t.separator != "" && i > 0 && i < len(name)-1 {
		return name[:i], name[i+len(t.separator):]
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
	namespace, name := t.split(name)
	if t.lower {
		namespace, name = strings.ToLower(namespace), strings.ToLower(name)
	}
	if t.name == "npm" && strings.HasPrefix(namespace, "@") {
		namespace = strings.ToLower(namespace)
	}
	p := packageurl.PackageURL{Type: t.name, Namespace: namespace, Name: name, Version: version}
	if purl, ok := canonicalPURL(p); ok {
		return purl
	}
	purl, _ := canonicalPURL(packageurl.PackageURL{Type: generic.name, Name: name, Version: version})
	return purl
}

// readPURL returns the canonical form of a package URL that others wrote, or
// nothing when it is none.
func readPURL(s string) string {
	p, err := packageurl.FromString(line(s))
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
