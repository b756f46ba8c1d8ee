package report

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

// purlOf makes the package URL of a package, or "" if it cannot have one.
func purlOf(ecosystem, name, version string) string {
	separator := separatorOf(ecosystem)
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

// readPURL returns ecosystem, name and version of a package URL, spelt as the
// ecosystem spells them.
func readPURL(s string) (ecosystem, name, version string, ok bool) {
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
		name = p.Namespace + separatorOf(ecosystem) + p.Name
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

func separatorOf(ecosystem string) string {
	if s := separators[ecosystem]; s != "" {
		return s
	}
	return "/"
}

// purlWith makes a package URL that needs a qualifier to be whole.
func purlWith(kind, name, version, key, value string) string {
	p := packageurl.NewPackageURL(kind, "", name, version, packageurl.Qualifiers{{Key: key, Value: value}}, "")
	if p.Normalize() != nil {
		return ""
	}
	return p.ToString()
}
