package redoubt

import (
	"regexp"
	"strings"
)

// ecosystemNames gives one name to what reports, package URLs and OSV call an
// ecosystem, in lower case. Others are called as they call themselves.
var ecosystemNames = map[string]string{
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

// EcosystemName returns the one name of an ecosystem, whoever spells it.
func EcosystemName(name string) string {
	lower := strings.ToLower(strings.TrimSpace(name))
	if known := ecosystemNames[lower]; known != "" {
		return known
	}
	return lower
}

// PackageKey names a package so that all spellings of it are equal: its
// ecosystem, a slash, and its name as the ecosystem compares names.
func PackageKey(ecosystem, name string) string {
	ecosystem = EcosystemName(ecosystem)
	return ecosystem + "/" + normalPackage(ecosystem, strings.TrimSpace(name))
}

var pypiSeparators = regexp.MustCompile(`[-_.]+`)

// normalPackage spells a name as the ecosystem compares it. Where the ecosystem
// tells case apart, or forbids it, the name stays.
func normalPackage(ecosystem, name string) string {
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

// goRelease is a release of Go before the final one, as 1.22rc1, which records
// spell 1.22-rc.1.
var goRelease = regexp.MustCompile(`^(\d+\.\d+(?:\.\d+)?)(alpha|beta|rc)(\d+)$`)

// PackageVersion spells a version of a package, named by its key, as advisories
// do: Go's own releases are go1.22 where they are listed as a package, and
// modules carry a v.
func PackageVersion(key, version string) string {
	switch {
	case key == "gomod/stdlib" || key == "gomod/toolchain":
		return goRelease.ReplaceAllString(strings.TrimPrefix(strings.TrimPrefix(version, "v"), "go"), "$1-$2.$3")
	case strings.HasPrefix(key, "gomod/"):
		return strings.TrimPrefix(version, "v")
	}
	return version
}
