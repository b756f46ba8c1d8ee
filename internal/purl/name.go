package purl

import (
	"cmp"
	"regexp"
	"strings"
)

// Ecosystem returns the canonical name of an ecosystem for any spelling. It removes the registry
// that OSV adds after a colon, as in Packagist:https://packages.drupal.org/8, since lockfiles name
// packages independently of their registry. It preserves the release of a distribution.
func Ecosystem(name string) string {
	lower := strings.ToLower(strings.TrimSpace(name))
	if base, _, cut := strings.Cut(lower, ":"); cut {
		if e, known := ecosystems[base]; known && e.namespace == "" {
			lower = base
		}
	}
	return cmp.Or(ecosystems[lower].name, lower)
}

// IsEcosystem reports whether a name, in any spelling, is an ecosystem of package URLs, OSV or a
// package manager.
func IsEcosystem(name string) bool {
	_, known := ecosystemOf(name)
	return known || others[Ecosystem(name)]
}

// others lists ecosystems of scanners that package URLs do not have.
var others = map[string]bool{"julia": true, "luarocks": true, "nimble": true, "no_package_manager": true, "opam": true}

// Key returns the key of a package, which is the same for all spellings of its name. It consists of
// the ecosystem, a slash, and the name as the ecosystem compares names.
func Key(ecosystem, name string) string {
	ecosystem = Ecosystem(ecosystem)
	return ecosystem + "/" + normalPackage(ecosystem, strings.TrimSpace(name))
}

// VEXKey returns Key, in lower case for Go modules: package URLs do not preserve their case.
func VEXKey(ecosystem, name string) string {
	key := Key(ecosystem, name)
	if strings.HasPrefix(key, "gomod/") {
		return strings.ToLower(key)
	}
	return key
}

// normalPackage returns a name as the ecosystem compares it. It preserves the name where case is
// significant, or where uppercase is invalid.
func normalPackage(ecosystem, name string) string {
	switch ecosystem {
	case "pypi": // PEP 503
		return PyPIName(name)
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

// goRelease matches a pre-release of Go, such as 1.22rc1, which advisories write as 1.22-rc.1.
var goRelease = regexp.MustCompile(`^(\d+\.\d+(?:\.\d+)?)(alpha|beta|rc)(\d+)$`)

// Version returns a version as advisories write it, without the prefixes of Go; key is the
// package's Key. Inventories write releases of Go as go1.22 and module versions as v1.2.3.
func Version(key, version string) string {
	switch {
	case key == "gomod/stdlib" || key == "gomod/toolchain":
		return goRelease.ReplaceAllString(strings.TrimPrefix(strings.TrimPrefix(version, "v"), "go"), "$1-$2.$3")
	case strings.HasPrefix(key, "gomod/"):
		return strings.TrimPrefix(version, "v")
	}
	return version
}

// PyPIName returns a name as PyPI compares it: in lower case, with runs of . _ - as one hyphen (PEP
// 503).
func PyPIName(name string) string {
	name = strings.TrimSpace(name)
	if strings.ContainsAny(name, "-_.") {
		name = separatorRuns.ReplaceAllString(name, "-")
	}
	return strings.ToLower(name)
}

var separatorRuns = regexp.MustCompile(`[-_.]+`)
