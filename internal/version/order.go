package version

import (
	"strings"

	"github.com/google/osv-scalibr/semantic"
)

// maxLength bounds what is read as a version, in bytes: the orders compare
// numbers of any length, and versions come from files of strangers.
const maxLength = 256

// Order compares the versions of one ecosystem. Make it with OrderOf.
type Order struct {
	scheme scheme
}

// OrderOf returns the order of an ecosystem, named as in package URLs, OSV or
// by scanners, in any case: npm, PyPI, gomod, Debian:12. One that is not known
// has the natural order: runs of digits compare as numbers, everything else as
// text, separators do not count, and a version comes before its extensions.
func OrderOf(ecosystem string) Order {
	return Order{schemeOf(ecosystem)}
}

// IsVersion reports whether s is a version of the ecosystem: not a branch, a
// URL, a range or empty. Only versions lie within bounds.
func (o Order) IsVersion(s string) bool {
	_, ok := o.parse(s)
	return ok
}

// Compare returns -1, 0 or 1 as a comes before b, is equal to it, or comes
// after it. It is a total order of all strings, in which spellings of the same
// version are equal: what is not a version comes before all versions and is
// ordered naturally among itself.
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

// parsed is a version read once, ready to be compared with others of its
// ecosystem.
type parsed interface {
	compare(other parsed) int
}

// parse reads a version, or reports that s is none.
func (o Order) parse(s string) (parsed, bool) {
	if len(s) > maxLength {
		return nil, false
	}
	if o.scheme.osv == "Packagist" {
		return parseComposer(strings.ToLower(s))
	}
	if o.scheme.shape == nil {
		return natural(naturalParts(s)), looksNatural(s)
	}
	switch o.scheme.osv {
	case "PyPI", "NuGet": // which do not look at case
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
	// where build metadata counts
	case o.scheme.shape == nugetShape, o.scheme.shape == semverShape && o.scheme.osv != "Pub":
		return parseSemver(s), true
	}
	v, err := semantic.Parse(s, o.scheme.osv)
	return known{v}, err == nil
}

// known is a version that the library reads and orders.
type known struct {
	version semantic.Version
}

func (k known) compare(other parsed) int {
	sign, err := k.version.Compare(other.(known).version)
	if err != nil {
		return 0 // cannot be: both are of one ecosystem
	}
	return max(-1, min(1, sign))
}
