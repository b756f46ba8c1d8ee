// Package purl writes and parses package URLs, and normalizes package names by the rules of their
// ecosystem.
package purl

import (
	"cmp"
	"net/url"
	"regexp"
	"strings"

	"github.com/package-url/packageurl-go"
)

// Of returns the package URL of a package, with its version unchanged, or "" if it cannot have one.
// The type is the ecosystem's name if the specification has no type for it.
func Of(ecosystem, name, version string) string {
	e, _ := ecosystemOf(ecosystem)
	p := packageurl.PackageURL{Type: e.kind, Version: version}
	p.Namespace, p.Name = e.split(name)
	if p.Normalize() != nil {
		return ""
	}
	return p.ToString()
}

// Make returns the canonical package URL of a package version, with a type that the specification
// lists. All other ecosystems have the type generic. It is empty for a package without a name.
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

// Parse returns the ecosystem, name and version of a package URL, in the spelling of the ecosystem.
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

// goPath returns a module path in the case of the URL. The library lowercases it, but module paths
// are case-sensitive.
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

// With returns a package URL with a qualifier that it requires, or "" if it is invalid.
func With(kind, name, version, key, value string) string {
	p := packageurl.NewPackageURL(kind, "", name, version, packageurl.Qualifiers{{Key: key, Value: value}}, "")
	if p.Normalize() != nil {
		return ""
	}
	return p.ToString()
}

var bareGoVersion = regexp.MustCompile(`^\d+\.\d+\.\d+`)

// Canonical returns the canonical form of a package URL, or "" if it is invalid.
func Canonical(s string) string {
	p, err := packageurl.FromString(s)
	if err != nil {
		return ""
	}
	text, _ := Canonicalize(p)
	return text
}

// Canonicalize writes a package URL by the rules of its type and two common conventions. Runs of -,
// _ and . in Python names become one hyphen (PEP 503), and versions of Go modules begin with v. ok
// is false if the package URL is invalid.
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
	parsed, err := packageurl.FromString(p.String())
	if err != nil {
		return "", false
	}
	return parsed.String(), true
}

// Bare returns a package URL without qualifiers and subpath, which is how findings identify package
// versions.
func Bare(purl string) string {
	bare, _, _ := strings.Cut(purl, "#")
	bare, _, _ = strings.Cut(bare, "?")
	return bare
}
