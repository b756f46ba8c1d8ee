package purl

import (
	"cmp"
	"strings"

	"github.com/package-url/packageurl-go"
)

// ecosystem says what one is called, and how its packages are written as
// package URLs.
type ecosystem struct {
	name      string // the one that it goes by here; its own when empty
	kind      string // the type of package URLs
	namespace string // of packages that bring none, as a distribution's name
	separator string // between namespace and name; / when empty
	group     bool   // bills of materials show the namespace apart from the name
	lower     bool   // names are the same in upper and lower case
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

// ecosystems knows them by what reports, package URLs and OSV call them, in
// lower case. Others are called as they call themselves.
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
	// As OSV writes them; the specification of package URLs does not list the type.
	"bioconductor": {kind: "bioconductor"},
	"alpine":       {kind: packageurl.TypeApk, namespace: "alpine", lower: true},
}

// ofType are the names of ecosystems whose package URLs are of another type.
// Other types, as deb or github, are their own ecosystem.
var ofType = map[string]string{golang.kind: golang.name, swift.kind: swift.name, hex.kind: hex.name}

// ecosystemOf finds an ecosystem: that of the table, or the type of package
// URLs that has its name, which the specification may know or not. A release
// behind a colon, as in Debian:12, does not matter.
func ecosystemOf(name string) (e ecosystem, known bool) {
	name, _, _ = strings.Cut(name, ":")
	name = strings.ToLower(strings.TrimSpace(name))
	if e, known = ecosystems[name]; known {
		return e, true
	}
	_, known = packageurl.KnownTypes[name]
	return ecosystem{kind: name}, known
}

// split parts a package's name into namespace and name.
func (e ecosystem) split(name string) (namespace, rest string) {
	if i := strings.LastIndex(name, cmp.Or(e.separator, "/")); i > 0 && i < len(name)-1 {
		return name[:i], name[i+1:]
	}
	return e.namespace, name
}

// Group parts a name into the two that bills of materials show apart; group is
// empty where they show one.
func Group(ecosystem, name string) (group, rest string) {
	if e, _ := ecosystemOf(ecosystem); e.group {
		return e.split(name)
	}
	return "", name
}

// Separator is what stands between namespace and name of a package of an
// ecosystem: a slash but for that of Maven.
func Separator(ecosystem string) string {
	e, _ := ecosystemOf(ecosystem)
	return cmp.Or(e.separator, "/")
}
