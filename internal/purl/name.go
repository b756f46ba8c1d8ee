package purl

import (
	"cmp"
	"regexp"
	"strings"
)

// Ecosystem returns the one name of an ecosystem, whoever spells it. The registry
// that OSV puts behind a colon, as in Packagist:https://packages.drupal.org/8, is no
// part of it, since lockfiles name packages alike wherever they come from; the
// release of a distribution is.
func Ecosystem(name string) string {
	lower := strings.ToLower(strings.TrimSpace(name))
	if base, _, cut := strings.Cut(lower, ":"); cut {
		if e, known := ecosystems[base]; known && e.namespace == "" {
			lower = base
		}
	}
	return cmp.Or(ecosystems[lower].name, lower)
}

// IsEcosystem reports whether a name is one that package URLs, OSV or the
// package managers of developers give an ecosystem, whoever spells it.
func IsEcosystem(name string) bool {
	_, known := ecosystemOf(name)
	return known || others[Ecosystem(name)]
}

// others are ecosystems that scanners name and package URLs do not.
var others = map[string]bool{"julia": true, "luarocks": true, "nimble": true, "no_package_manager": true, "opam": true}

// Key names a package so that all spellings of it are equal: its
// ecosystem, a slash, and its name as the ecosystem compares names.
func Key(ecosystem, name string) string {
	ecosystem = Ecosystem(ecosystem)
	return ecosystem + "/" + normalPackage(ecosystem, strings.TrimSpace(name))
}

// VEXKey names a package as Key does, but for the case of Go's modules,
// which package URLs lose.
func VEXKey(ecosystem, name string) string {
	key := Key(ecosystem, name)
	if strings.HasPrefix(key, "gomod/") {
		return strings.ToLower(key)
	}
	return key
}

// normalPackage spells a name as the ecosystem compares it. Where the ecosystem
// tells case apart, or forbids it, the name stays.
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

// goRelease is a release of Go before the final one, as 1.22rc1, which records
// spell 1.22-rc.1.
var goRelease = regexp.MustCompile(`^(\d+\.\d+(?:\.\d+)?)(alpha|beta|rc)(\d+)$`)

// Version spells a version of a package, named by its key, as advisories
// do: Go's own releases are go1.22 where they are listed as a package, and
// modules carry a v.
func Version(key, version string) string {
	switch {
	case key == "gomod/stdlib" || key == "gomod/toolchain":
		return goRelease.ReplaceAllString(strings.TrimPrefix(strings.TrimPrefix(version, "v"), "go"), "$1-$2.$3")
	case strings.HasPrefix(key, "gomod/"):
		return strings.TrimPrefix(version, "v")
	}
	return version
}

// PyPIName is a name as the index compares it: lower case, runs of . _ - are
// one hyphen (PEP 503).
func PyPIName(name string) string {
	name = strings.TrimSpace(name)
	if strings.ContainsAny(name, "-_.") {
		name = separatorRuns.ReplaceAllString(name, "-")
	}
	return strings.ToLower(name)
}

var separatorRuns = regexp.MustCompile(`[-_.]+`)
