package advisory

import (
	"strings"

	"github.com/redoubt/redoubt/internal/purl"
)

// osvNames maps ecosystems to the names of the folders in OSV's archives.
var osvNames = map[string]string{
	"gomod": "Go", "cargo": "crates.io", "gem": "RubyGems", "composer": "Packagist", "maven": "Maven", "mix": "Hex",
	"swiftpm": "SwiftURL", "conan": "ConanCenter", "github": "GitHub Actions",
	"npm": "npm", "pypi": "PyPI", "nuget": "NuGet",
	"pub": "Pub", "cran": "CRAN", "bioconductor": "Bioconductor", "hackage": "Hackage", "julia": "Julia",
}

// OSVName returns OSV's name for an ecosystem. Unknown ecosystems are returned unchanged.
func OSVName(ecosystem string) string {
	if name := osvNames[purl.Ecosystem(ecosystem)]; name != "" {
		return name
	}
	return strings.TrimSpace(ecosystem)
}
