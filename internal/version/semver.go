package version

import (
	"cmp"
	"strings"
)

// semver is a semantic version; numbers that are left out are 0, and build
// metadata does not count (Semantic Versioning 2.0.0, items 10 and 11). NuGet
// has a fourth number.
type semver struct {
	numbers    [4]string
	prerelease []string // nil of a release
}

// parseSemver reads what has semverShape or nugetShape.
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
		return cmp.Compare(len(w.prerelease), len(v.prerelease)) // a release comes after its pre-releases
	}
	for i := range min(len(v.prerelease), len(w.prerelease)) {
		if sign := compareIdentifiers(v.prerelease[i], w.prerelease[i]); sign != 0 {
			return sign
		}
	}
	return cmp.Compare(len(v.prerelease), len(w.prerelease))
}

// compareIdentifiers compares numbers by value, words by their bytes, and a
// number before a word. A hyphen is a letter: -1 is a word.
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

// isNumeric reports whether s is nothing but digits.
func isNumeric(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
