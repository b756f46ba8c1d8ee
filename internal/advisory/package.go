package advisory

import (
	"regexp"
	"strings"
)

// ecosystems gives one name to what reports, package URLs and OSV call an
// ecosystem, in lower case. Others are called as they call themselves.
var ecosystems = map[string]string{
	"go": "gomod", "golang": "gomod", "gomod": "gomod",
	"crates.io": "cargo", "cargo": "cargo",
	"rubygems": "gem", "gem": "gem",
	"packagist": "composer", "composer": "composer",
	"gradle": "maven", "maven": "maven",
	"hex": "mix", "mix": "mix",
	"swifturl": "swiftpm", "swift": "swiftpm", "swiftpm": "swiftpm",
	"conancenter": "conan", "conan": "conan",
	"github actions": "github", "githubactions": "github",
}

// Ecosystem returns the one name of an ecosystem, whoever spells it.
func Ecosystem(name string) string {
	lower := strings.ToLower(strings.TrimSpace(name))
	if known := ecosystems[lower]; known != "" {
		return known
	}
	return lower
}

// osvNames are the folders of OSV's archives, by the one name.
var osvNames = map[string]string{
	"gomod": "Go", "cargo": "crates.io", "gem": "RubyGems", "composer": "Packagist", "maven": "Maven", "mix": "Hex",
	"swiftpm": "SwiftURL", "conan": "ConanCenter", "github": "GitHub Actions", "npm": "npm", "pypi": "PyPI", "nuget": "NuGet",
	"pub": "Pub", "cran": "CRAN", "hackage": "Hackage",
}

// OSVName returns what OSV calls an ecosystem; one that is not known is
// returned as it is.
func OSVName(ecosystem string) string {
	if name := osvNames[Ecosystem(ecosystem)]; name != "" {
		return name
	}
	return strings.TrimSpace(ecosystem)
}

// Key names a package so that all spellings of it are equal: its ecosystem, a
// slash, and its name as the ecosystem compares names.
func Key(ecosystem, name string) string {
	ecosystem = Ecosystem(ecosystem)
	return ecosystem + "/" + normalName(ecosystem, strings.TrimSpace(name))
}

var pypiSeparators = regexp.MustCompile(`[-_.]+`)

// normalName spells a name as the ecosystem compares it. Where the ecosystem
// tells case apart, or forbids it, the name stays.
func normalName(ecosystem, name string) string {
	switch ecosystem {
	case "pypi": // PEP 503
		if strings.ContainsAny(name, "-_.") {
			name = pypiSeparators.ReplaceAllString(name, "-")
		}
		return strings.ToLower(name)
	case "nuget", "composer", "pub", "mix", "github":
		return strings.ToLower(name)
	case "maven":
		return strings.ReplaceAll(name, "/", ":")
	case "swiftpm":
		name = strings.ToLower(name)
		for _, scheme := range []string{"https://", "http://", "ssh://", "git@"} {
			name = strings.TrimPrefix(name, scheme)
		}
		return strings.TrimSuffix(strings.TrimSuffix(name, "/"), ".git")
	}
	return name
}

// normalVersion spells a version as records do: Go's own releases are go1.22
// where they are listed as a package, and modules carry a v.
func normalVersion(pkg, version string) string {
	switch {
	case pkg == "gomod/stdlib" || pkg == "gomod/toolchain":
		return strings.TrimPrefix(strings.TrimPrefix(version, "v"), "go")
	case strings.HasPrefix(pkg, "gomod/"):
		return strings.TrimPrefix(version, "v")
	}
	return version
}
