package version

import (
	"regexp"
	"strings"
)

// scheme is how an ecosystem writes and orders its versions. The zero scheme
// is the natural order.
type scheme struct {
	osv   string         // the ecosystem's name in OSV, which semantic knows
	shape *regexp.Regexp // what looks like a version; nil with the natural order and Composer's
}

// Shapes of versions, each as strict as its ecosystem's own definition.
var (
	semverShape = regexp.MustCompile(`^v?\d+(\.\d+){0,2}(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
	nugetShape  = regexp.MustCompile(`^v?\d+(\.\d+){0,3}(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
	// pypiShape is appendix B of PEP 440, matched in lower case.
	pypiShape = regexp.MustCompile(`^v?(\d+!)?\d+(\.\d+)*([-_.]?(a|b|c|rc|alpha|beta|pre|preview)[-_.]?\d*)?` +
		`(-\d+|[-_.]?(post|rev|r)[-_.]?\d*)?([-_.]?dev[-_.]?\d*)?(\+[a-z0-9]+([-_.][a-z0-9]+)*)?$`)
	// mavenShape leaves out what Maven takes for a version without a number in it.
	mavenShape  = regexp.MustCompile(`^[0-9A-Za-z._+-]*\d[0-9A-Za-z._+-]*$`)
	gemShape    = regexp.MustCompile(`^\d+(\.[0-9A-Za-z]+)*(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)
	debianShape = regexp.MustCompile(`^(\d+:)?\d[0-9A-Za-z.+~-]*$`)
	rpmShape    = regexp.MustCompile(`^(\d+:)?[0-9A-Za-z._+~^]+(-[0-9A-Za-z._+~^]+)?$`)
	alpineShape = regexp.MustCompile(
		`^\d+(\.\d+)*[a-z]?(_(alpha|beta|pre|rc|cvs|svn|git|hg|p)\d*)*(~[0-9a-f]+)?(-r\d+)?$`,
	)
	cranShape    = regexp.MustCompile(`^\d+([.-]\d+)+$`)
	hackageShape = regexp.MustCompile(`^\d+(\.\d+)*$`)
)

// schemes knows ecosystems by the names of package URLs, of scanners and of
// OSV, in lower case.
var schemes = map[string]scheme{
	"npm":         {"npm", semverShape},
	"pypi":        {"PyPI", pypiShape},
	"go":          {"Go", semverShape},
	"gomod":       {"Go", semverShape},
	"golang":      {"Go", semverShape},
	"maven":       {"Maven", mavenShape},
	"gradle":      {"Maven", mavenShape},
	"gem":         {"RubyGems", gemShape},
	"rubygems":    {"RubyGems", gemShape},
	"nuget":       {"NuGet", nugetShape},
	"composer":    {"Packagist", nil},
	"packagist":   {"Packagist", nil},
	"cargo":       {"crates.io", semverShape},
	"crates.io":   {"crates.io", semverShape},
	"pub":         {"Pub", semverShape},
	"hex":         {"Hex", semverShape},
	"mix":         {"Hex", semverShape},
	"swift":       {"SwiftURL", semverShape},
	"swiftpm":     {"SwiftURL", semverShape},
	"swifturl":    {"SwiftURL", semverShape},
	"conan":       {"ConanCenter", semverShape},
	"conancenter": {"ConanCenter", semverShape},
	"julia":       {"Julia", semverShape},
	"deb":         {"Debian", debianShape},
	"debian":      {"Debian", debianShape},
	"ubuntu":      {"Ubuntu", debianShape},
	"rpm":         {"Red Hat", rpmShape},
	"red hat":     {"Red Hat", rpmShape},
	"apk":         {"Alpine", alpineShape},
	"alpine":      {"Alpine", alpineShape},
	"cran":        {"CRAN", cranShape},
	// Its packages are R's too, and count their versions as CRAN's do.
	"bioconductor": {"CRAN", cranShape},
	"hackage":      {"Hackage", hackageShape},
}

// schemeOf finds the scheme of an ecosystem. A release behind a colon, as in
// Debian:12, does not matter.
func schemeOf(ecosystem string) scheme {
	name, _, _ := strings.Cut(ecosystem, ":")
	return schemes[strings.ToLower(name)]
}
