// Package purl writes and reads package URLs, and knows how each ecosystem spells
// the names of its packages.
//
// It is pure: names in, names out. What a package is, and which one a finding is
// about, is for those who ask.
package purl

import (
	"net/url"
	"strings"

	"github.com/package-url/packageurl-go"
)

// ecosystems maps the types of package URLs to the ecosystems of the contract.
// Types that are not here, as deb or github, are their own ecosystem.
var ecosystems = map[string]string{
	packageurl.TypeGolang: "gomod",
	packageurl.TypeSwift:  "swiftpm",
	packageurl.TypeHex:    "mix",
}

// purlTypes is the other way round.
var purlTypes = map[string]string{
	"gomod":   packageurl.TypeGolang,
	"swiftpm": packageurl.TypeSwift,
	"mix":     packageurl.TypeHex,
}

// separators stand between namespace and name of a package in each ecosystem;
// a slash elsewhere.
var separators = map[string]string{"maven": ":"}

// Of makes the package URL of a package, or "" if it cannot have one.
func Of(ecosystem, name, version string) string {
	separator := Separator(ecosystem)
	namespace := ""
	if i := strings.LastIndex(name, separator); i >= 0 {
		namespace, name = name[:i], name[i+len(separator):]
	}
	kind := ecosystem
	if purlTypes[ecosystem] != "" {
		kind = purlTypes[ecosystem]
	}
	p := packageurl.NewPackageURL(kind, namespace, name, version, nil, "")
	if p.Normalize() != nil {
		return ""
	}
	return p.ToString()
}

// Parse returns ecosystem, name and version of a package URL, spelt as the
// ecosystem spells them.
func Parse(s string) (ecosystem, name, version string, ok bool) {
	p, err := packageurl.FromString(s)
	if err != nil {
		return "", "", "", false
	}
	ecosystem = p.Type
	if ecosystems[p.Type] != "" {
		ecosystem = ecosystems[p.Type]
	}
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

// Separator is what stands between namespace and name of a package of an
// ecosystem: a slash but for that of Maven.
func Separator(ecosystem string) string {
	if s := separators[ecosystem]; s != "" {
		return s
	}
	return "/"
}

// With makes a package URL that needs a qualifier to be whole.
func With(kind, name, version, key, value string) string {
	p := packageurl.NewPackageURL(kind, "", name, version, packageurl.Qualifiers{{Key: key, Value: value}}, "")
	if p.Normalize() != nil {
		return ""
	}
	return p.ToString()
}
