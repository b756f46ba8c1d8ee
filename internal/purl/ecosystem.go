package purl

import (
	"cmp"
	"strings"

	"github.com/package-url/packageurl-go"
)

// ecosystem defines the name of an ecosystem and how its packages are written as package URLs.
type ecosystem struct {
	name      string // canonical name; empty: the name as given
	kind      string // type of package URLs
	namespace string // default namespace, such as the name of a distribution
	separator string // between namespace and name; / if empty
	group     bool   // bills of materials list the namespace separately from the name
	lower     bool   // names are case-insensitive
}

var (
	golang   = ecosystem{name: "gomod", kind: packageurl.TypeGolang}
	cargo    = ecosystem{name: "cargo", kind: packageurl.TypeCargo}
	gem      = ecosystem{name: "gem", kind: packageurl.TypeGem}
	composer = ecosystem{name: "composer", kind: packageurl.TypeComposer, group: true, lower: true}
	maven    = ecosystem{name: "maven", kind: packageurl.TypeMaven, separator: ":", group: true}
	hex      = ecosystem{name: "mix", kind: packageurl.TypeHex, lower: true}
	swift    = ecosystem{name: "swiftpm", kind: packageurl.TypeSwift}
	conan    = ecosystem{name: "conan", kind: packageurl.TypeConan}
	actions  = ecosystem{name: "github", kind: "githubactions", lower: true}
)

// ecosystems maps the names in reports, package URLs and OSV, in lower case, to ecosystems. Others
// use their own name.
var ecosystems = map[string]ecosystem{
	"go": golang, "golang": golang, "gomod": golang,
	"crates.io": cargo, "cargo": cargo,
	"rubygems": gem, "gem": gem,
	"packagist": composer, "composer": composer,
	"gradle": maven, "maven": maven,
	"hex": hex, "mix": hex,
	"swifturl": swift, "swift": swift, "swiftpm": swift,
	"conancenter": conan, "conan": conan,
	"github actions": actions, "githubactions": actions,
	"npm":     {kind: packageurl.TypeNPM, group: true},
	"pypi":    {kind: packageurl.TypePyPi, lower: true},
	"pub":     {kind: packageurl.TypePub, lower: true},
	"debian":  {kind: packageurl.TypeDebian, namespace: "debian", lower: true},
	"ubuntu":  {kind: packageurl.TypeDebian, namespace: "ubuntu", lower: true},
	"red hat": {kind: packageurl.TypeRPM, namespace: "redhat"},
	// OSV uses this type; the package URL specification does not list it.
	"bioconductor": {kind: "bioconductor"},
	"alpine":       {kind: packageurl.TypeApk, namespace: "alpine", lower: true},
}

// ofType maps types of package URLs to the ecosystem's name, where the two differ. Other types,
// such as deb or github, are their own ecosystem.
var ofType = map[string]string{golang.kind: golang.name, swift.kind: swift.name, hex.kind: hex.name}

// ecosystemOf returns the ecosystem of a name, from the table or as a type of package URLs. The
// type is unknown if the specification does not list it. A release after a colon, as in Debian:12,
// is ignored.
func ecosystemOf(name string) (e ecosystem, known bool) {
	name, _, _ = strings.Cut(name, ":")
	name = strings.ToLower(strings.TrimSpace(name))
	if e, known = ecosystems[name]; known {
		return e, true
	}
	_, known = packageurl.KnownTypes[name]
	return ecosystem{kind: name}, known
}

// split splits the name of a package into namespace and name.
func (e ecosystem) split(name string) (namespace, rest string) {
	if i := strings.LastIndex(name, cmp.Or(e.separator, "/")); i > 0 && i < len(name)-1 {
		return name[:i], name[i+1:]
	}
	return e.namespace, name
}

// Group splits a name into the group and name that bills of materials list separately. group is
// empty if the ecosystem has none.
func Group(ecosystem, name string) (group, rest string) {
	if e, _ := ecosystemOf(ecosystem); e.group {
		return e.split(name)
	}
	return "", name
}

// Separator returns the separator between the namespace and name of an ecosystem's packages: a
// colon for Maven, else a slash.
func Separator(ecosystem string) string {
	e, _ := ecosystemOf(ecosystem)
	return cmp.Or(e.separator, "/")
}
