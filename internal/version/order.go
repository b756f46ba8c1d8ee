package version

import (
	"strings"

	"github.com/google/osv-scalibr/semantic"
)

// maxLength is the maximum length of a version, in bytes. Versions come from untrusted files, and
// the orders compare numbers of any length.
const maxLength = 256

// Order compares the versions of one ecosystem. OrderOf returns one.
type Order struct {
	scheme scheme
}

// OrderOf returns the order of an ecosystem, such as npm, PyPI, gomod or Debian:12. Names are those
// of package URLs, OSV or scanners, ignoring case. An unknown ecosystem has the natural order. Runs
// of digits compare as numbers, all else compares as text, and separators are ignored. A version is
// less than its extensions.
func OrderOf(ecosystem string) Order {
	return Order{schemeOf(ecosystem)}
}

// IsVersion reports whether s is a valid version of the ecosystem. Branches, URLs, ranges and empty
// texts are invalid. Only valid versions are within bounds.
func (o Order) IsVersion(s string) bool {
	_, ok := o.parse(s)
	return ok
}

// Compare returns -1, 0 or 1 if a is less than, equal to or greater than b. It is a total order of
// all strings in which spellings of the same version are equal. Invalid versions are less than all
// valid ones and are ordered naturally.
func (o Order) Compare(a, b string) int {
	left, isLeft := o.parse(a)
	right, isRight := o.parse(b)
	switch {
	case isLeft && isRight:
		return left.compare(right)
	case isLeft:
		return 1
	case isRight:
		return -1
	}
	return compareNatural(naturalParts(a), naturalParts(b))
}

// parsed is a parsed version that can be compared with others of its ecosystem.
type parsed interface {
	compare(other parsed) int
}

// parse parses a version. It returns false if s is not a version of the ecosystem.
func (o Order) parse(s string) (parsed, bool) {
	if len(s) > maxLength {
		return nil, false
	}
	if o.scheme.osv == "Packagist" {
		return parseComposer(strings.ToLower(s))
	}
	if o.scheme.shape == nil {
		return natural(naturalParts(s)), isNatural(s)
	}
	switch o.scheme.osv {
	case "PyPI", "NuGet": // these ignore case
		s = strings.ToLower(s)
	}
	if !o.scheme.shape.MatchString(s) {
		return nil, false
	}
	switch {
	case o.scheme.osv == "Maven":
		return parseMaven(s), true
	case o.scheme.osv == "RubyGems":
		return parseGem(s), true
	// Ecosystems that ignore build metadata.
	case o.scheme.shape == nugetShape, o.scheme.shape == semverShape && o.scheme.osv != "Pub":
		return parseSemver(s), true
	}
	v, err := semantic.Parse(s, o.scheme.osv)
	return known{v}, err == nil
}

// known is a version that the semantic package parses and compares.
type known struct {
	version semantic.Version
}

func (k known) compare(other parsed) int {
	sign, err := k.version.Compare(other.(known).version)
	if err != nil {
		return 0 // unreachable: both are of one ecosystem
	}
	return max(-1, min(1, sign))
}
