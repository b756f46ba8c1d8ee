package version

import (
	"regexp"
	"strings"
)

// scheme defines how an ecosystem writes and orders versions. The zero scheme is the natural order.
type scheme struct {
	osv   string         // name of the ecosystem in OSV, as the semantic package expects it
	shape *regexp.Regexp // matches valid versions; nil for the natural order and Composer
}

// The patterns of versions are as strict as the definition of each ecosystem.
var (
	semverShape = regexp.MustCompile(`^v?\d+(\.\d+){0,2}(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
	nugetShape  = regexp.MustCompile(`^v?\d+(\.\d+){0,3}(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
	// pypiShape is from appendix B of PEP 440 and is matched in lower case.
	pypiShape = regexp.MustCompile(`^v?(\d+!)?\d+(\.\d+)*([-_.]?(a|b|c|rc|alpha|beta|pre|preview)[-_.]?\d*)?` +
		`(-\d+|[-_.]?(post|rev|r)[-_.]?\d*)?([-_.]?dev[-_.]?\d*)?(\+[a-z0-9]+([-_.][a-z0-9]+)*)?$`)
	// mavenShape excludes versions without a digit, which Maven accepts.
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

// schemes maps ecosystems to their schemes. The keys are the names in package URLs, scanners and
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
	// Bioconductor distributes R packages, which use CRAN's version order.
	"bioconductor": {"CRAN", cranShape},
	"hackage":      {"Hackage", hackageShape},
}

// schemeOf returns the scheme of an ecosystem. It ignores a release after a colon, as in Debian:12.
func schemeOf(ecosystem string) scheme {
	name, _, _ := strings.Cut(ecosystem, ":")
	return schemes[strings.ToLower(name)]
}
