package advisory

import (
	"strings"

	"github.com/redoubt/redoubt/internal/purl"
)

// osvNames are the folders of OSV's archives, by the one name.
var osvNames = map[string]string{
	"gomod": "Go", "cargo": "crates.io", "gem": "RubyGems", "composer": "Packagist", "maven": "Maven", "mix": "Hex",
	"swiftpm": "SwiftURL", "conan": "ConanCenter", "github": "GitHub Actions",
	"npm": "npm", "pypi": "PyPI", "nuget": "NuGet",
	"pub": "Pub", "cran": "CRAN", "bioconductor": "Bioconductor", "hackage": "Hackage", "julia": "Julia",
}

// OSVName returns what OSV calls an ecosystem; one that is not known is
// returned as it is.
func OSVName(ecosystem string) string {
	if name := osvNames[purl.Ecosystem(ecosystem)]; name != "" {
		return name
	}
	return strings.TrimSpace(ecosystem)
}
