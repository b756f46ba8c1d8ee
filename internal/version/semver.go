package version

import (
	"cmp"
	"strings"
)

// semver is a semantic version. Omitted numbers are 0, and build metadata is ignored (Semantic
// Versioning 2.0.0, items 10 and 11). NuGet has a fourth number.
type semver struct {
	numbers    [4]string
	prerelease []string // nil for a release
}

// parseSemver parses a version that matches semverShape or nugetShape.
func parseSemver(s string) semver {
	s, _, _ = strings.Cut(strings.TrimPrefix(s, "v"), "+")
	core, prerelease, isPrerelease := strings.Cut(s, "-")
	v := semver{numbers: [4]string{"0", "0", "0", "0"}}
	for i, digits := range strings.Split(core, ".") {
		v.numbers[i] = number(digits)
	}
	if isPrerelease {
		v.prerelease = strings.Split(prerelease, ".")
	}
	return v
}

func (v semver) compare(other parsed) int {
	w := other.(semver)
	for i := range v.numbers {
		if sign := compareDigits(v.numbers[i], w.numbers[i]); sign != 0 {
			return sign
		}
	}
	if v.prerelease == nil || w.prerelease == nil {
		return cmp.Compare(len(w.prerelease), len(v.prerelease)) // a release is greater than its pre-releases
	}
	for i := range min(len(v.prerelease), len(w.prerelease)) {
		if sign := compareIdentifiers(v.prerelease[i], w.prerelease[i]); sign != 0 {
			return sign
		}
	}
	return cmp.Compare(len(v.prerelease), len(w.prerelease))
}

// compareIdentifiers compares numbers by value and words by their bytes. A number is less than a
// word. A hyphen is a letter: -1 is a word.
func compareIdentifiers(a, b string) int {
	switch aNumeric, bNumeric := isNumeric(a), isNumeric(b); {
	case aNumeric && bNumeric:
		return compareDigits(number(a), number(b))
	case aNumeric:
		return -1
	case bNumeric:
		return 1
	}
	return strings.Compare(a, b)
}

// isNumeric reports whether s consists of digits and is not empty.
func isNumeric(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
