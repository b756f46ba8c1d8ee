package version

import (
	"fmt"
	"regexp"
	"strings"
)

// Range is a range of versions between two bounds. The zero Range contains every text, including
// invalid versions.
type Range struct {
	bounds []bound
}

type bound struct {
	operator string // >=, >, <=, < or =
	version  string
}

// operators are ordered so that no operator precedes a longer one that it is a prefix of.
var operators = []string{">=", "<=", "==", ">", "<", "="}

// ParseRange parses a lower and an upper bound; an empty bound is unlimited. Both bounds are
// inclusive unless they begin with another operator: >= > <= < = ==, on either side
// (docs/reference/dependencies.md). A bound that is not a version, such as ^1.2 or 1.x, is an
// error.
func ParseRange(lower, upper string) (Range, error) {
	var r Range
	for _, side := range []struct{ text, operator string }{{lower, ">="}, {upper, "<="}} {
		b, err := parseBound(side.text, side.operator)
		if err != nil {
			return Range{}, err
		}
		if b.version != "" {
			r.bounds = append(r.bounds, b)
		}
	}
	return r, nil
}

var (
	versionBound = regexp.MustCompile(`^[vV]?[0-9][0-9A-Za-z._+~^!:-]*$`)
	wildcard     = regexp.MustCompile(`(?:^|[.])[xX](?:[.]|$)`)
)

// isBound reports whether a text begins like a version of any ecosystem and has no wildcard.
func isBound(s string) bool { return versionBound.MatchString(s) && !wildcard.MatchString(s) }

func parseBound(text, operator string) (bound, error) {
	rest := strings.TrimSpace(text)
	if rest == "" {
		return bound{}, nil
	}
	for _, op := range operators {
		if after, found := strings.CutPrefix(rest, op); found {
			operator, rest = op, strings.TrimSpace(after)
			break
		}
	}
	if !isBound(rest) {
		return bound{}, fmt.Errorf(
			"invalid version bound %q: use a version with a leading digit, optionally after >=, >, <=, < or =", text,
		)
	}
	return bound{operator, rest}, nil
}

// In returns a function that reports whether a version of the ecosystem is within the range. It
// returns false if the version, or a bound, is invalid in that ecosystem.
func (r Range) In(ecosystem string) func(version string) bool {
	order := OrderOf(ecosystem)
	limits := make([]parsed, len(r.bounds))
	for i, b := range r.bounds {
		limit, ok := order.parse(b.version)
		if !ok {
			return func(string) bool { return false }
		}
		limits[i] = limit
	}
	return func(version string) bool {
		if len(limits) == 0 {
			return true
		}
		v, ok := order.parse(version)
		for i, limit := range limits {
			ok = ok && r.bounds[i].admits(v.compare(limit))
		}
		return ok
	}
}

// admits reports whether a version satisfies the bound. sign is the comparison of the version with
// the bound.
func (b bound) admits(sign int) bool {
	switch b.operator {
	case ">=":
		return sign >= 0
	case ">":
		return sign > 0
	case "<=":
		return sign <= 0
	case "<":
		return sign < 0
	}
	return sign == 0
}
