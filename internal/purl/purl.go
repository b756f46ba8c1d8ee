// Package purl writes and reads package URLs, and knows how each ecosystem spells
// the names of its packages.
//
// It is pure: names in, names out. What a package is, and which one a finding is
// about, is for those who ask.
package purl

import (
	"cmp"
	"net/url"
	"regexp"
	"strings"

	"github.com/package-url/packageurl-go"
)

// Of makes the package URL of a package, its version as it is spelt, or "" if
// it cannot have one. A type that the specification does not know is the
// ecosystem's name.
func Of(ecosystem, name, version string) string {
	e, _ := ecosystemOf(ecosystem)
	p := packageurl.PackageURL{Type: e.kind, Version: version}
	p.Namespace, p.Name = e.split(name)
	if p.Normalize() != nil {
		return ""
	}
	return p.ToString()
}

// Make writes the canonical package URL of a package version, of no type but
// those that the specification knows: generic is that of all others. It is
// empty for a package without a name.
func Make(ecosystem, name, version string) string {
	e, known := ecosystemOf(ecosystem)
	if !known {
		e.kind = packageurl.TypeGeneric
	}
	p := packageurl.PackageURL{Type: e.kind, Version: version}
	p.Namespace, p.Name = e.split(name)
	if e.lower {
		p.Namespace, p.Name = strings.ToLower(p.Namespace), strings.ToLower(p.Name)
	}
	if text, ok := Canonicalize(p); ok {
		return text
	}
	text, _ := Canonicalize(packageurl.PackageURL{Type: packageurl.TypeGeneric, Name: name, Version: version})
	return text
}

// Parse returns ecosystem, name and version of a package URL, spelt as the
// ecosystem spells them.
func Parse(s string) (ecosystem, name, version string, ok bool) {
	p, err := packageurl.FromString(s)
	if err != nil {
		return "", "", "", false
	}
	ecosystem = cmp.Or(ofType[p.Type], p.Type)
	name = p.Name
	if p.Namespace != "" {
		name = p.Namespace + Separator(ecosystem) + p.Name
	}
	if p.Type == packageurl.TypeGolang {
		name = goPath(s, name)
	}
	return ecosystem, name, p.Version, true
}

// goPath spells a module path as the URL does: URLs are compared in lower
// case, module paths are not.
func goPath(purl, lower string) string {
	_, spelt, _ := strings.Cut(purl, "/")
	spelt, _, _ = strings.Cut(spelt, "?")
	spelt, _, _ = strings.Cut(spelt, "#")
	if i := strings.LastIndexByte(spelt, '@'); i > 0 {
		spelt = spelt[:i]
	}
	if decoded, err := url.PathUnescape(spelt); err == nil && strings.EqualFold(decoded, lower) {
		return decoded
	}
	return lower
}

// With makes a package URL that needs a qualifier to be whole.
func With(kind, name, version, key, value string) string {
	p := packageurl.NewPackageURL(kind, "", name, version, packageurl.Qualifiers{{Key: key, Value: value}}, "")
	if p.Normalize() != nil {
		return ""
	}
	return p.ToString()
}

var bareGoVersion = regexp.MustCompile(`^\d+\.\d+\.\d+`)

// Canonical returns the canonical form of a package URL that others wrote, or
// nothing when it is none.
func Canonical(s string) string {
	p, err := packageurl.FromString(s)
	if err != nil {
		return ""
	}
	text, _ := Canonicalize(p)
	return text
}

// Canonicalize writes a package URL by the rules of its type, and by two that
// the specification leaves open and everybody who writes them follows: runs of
// -, _ and . in Python names are one - (PEP 503), and versions of Go modules
// begin with v, as the modules' own do. It is false for what cannot be one.
func Canonicalize(p packageurl.PackageURL) (text string, ok bool) {
	switch p.Type {
	case packageurl.TypePyPi:
		p.Name = PyPIName(p.Name)
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

// Bare leaves out qualifiers and subpath: the package version alone, by
// which a finding names it.
func Bare(purl string) string {
	bare, _, _ := strings.Cut(purl, "#")
	bare, _, _ = strings.Cut(bare, "?")
	return bare
}
