package advisory

import (
	"strings"

	"github.com/redoubt/redoubt"
)

// Ecosystem returns the one name of an ecosystem, whoever spells it.
func Ecosystem(name string) string { return redoubt.EcosystemName(name) }

// osvNames are the folders of OSV's archives, by the one name.
var osvNames = map[string]string{
	"gomod": "Go", "cargo": "crates.io", "gem": "RubyGems", "composer": "Packagist", "maven": "Maven", "mix": "Hex",
	"swiftpm": "SwiftURL", "conan": "ConanCenter", "github": "GitHub Actions", "npm": "npm", "pypi": "PyPI", "nuget": "NuGet",
	"pub": "Pub", "cran": "CRAN", "hackage": "Hackage", "julia": "Julia",
}

// OSVName returns what OSV calls an ecosystem; one that is not known is
// returned as it is.
func OSVName(ecosystem string) string {
	if name := osvNames[Ecosystem(ecosystem)]; name != "" {
		return name
	}
	return strings.TrimSpace(ecosystem)
}

// Key names a package so that all spellings of it are equal: see
// redoubt.PackageKey.
func Key(ecosystem, name string) string { return redoubt.PackageKey(ecosystem, name) }
