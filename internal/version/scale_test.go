package version

import (
	"cmp"
	"fmt"
	"math/bits"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// TestScaleAgreesWithCompare checks that places compare as Compare does if at least one of two
// versions is on the scale.
func TestScaleAgreesWithCompare(t *testing.T) {
	ecosystems := []string{"npm", "pypi", "maven", "gem", "composer", "nuget", "gomod", "debian", "unknown"}
	text := rapid.StringMatching(`v?(0|1|2|10)(\.(0|1|00|10)){0,2}(-?(rc|alpha|beta|dev|x)\.?[01]?)?|main|\*||[0-9.ab-]{0,5}`)
	rapid.Check(t, func(t *rapid.T) {
		o := OrderOf(rapid.SampledFrom(ecosystems).Draw(t, "ecosystem"))
		on := rapid.SliceOfN(text, 0, 8).Draw(t, "on the scale")
		rank := o.Scale(on)
		for _, a := range append(on, text.Draw(t, "another")) {
			at, ok := rank(a)
			if ok != o.IsVersion(a) {
				t.Fatalf("%q has a place: %v", a, ok)
			}
			for _, b := range on {
				if with, both := rank(b); ok && both && cmp.Compare(at, with) != o.Compare(a, b) {
					t.Fatalf("%q is at %d, %q at %d, but they compare %d", a, at, b, with, o.Compare(a, b))
				}
			}
		}
	})
}

// counted is a number as a version that counts its comparisons.
type counted struct {
	number int
	times  *int
}

func (c counted) compare(other parsed) int {
	*c.times++
	return cmp.Compare(c.number, other.(counted).number)
}

func TestScaleParsesEachVersionOnce(t *testing.T) {
	for _, distinct := range []int{10, 100, 1000} {
		parses, comparisons := 0, 0
		parse := func(s string) (parsed, bool) {
			parses++
			n, err := strconv.Atoi(s)
			return counted{n, &comparisons}, err == nil
		}
		var versions []string
		for i := range 20 * distinct {
			versions = append(versions, fmt.Sprint(i*7919%distinct))
		}
		s := newScale(parse, versions)
		if parses != distinct {
			t.Errorf("%d parses of %d distinct versions", parses, distinct)
		}
		if most := 4 * distinct * bits.Len(uint(distinct)); comparisons > most {
			t.Errorf("%d comparisons of %d distinct versions, more than %d", comparisons, distinct, most)
		}
		for i, v := range versions {
			if position, ok := s.rank(v); !ok || position != 2*(i*7919%distinct)+1 {
				t.Fatalf("%s is at %d, %v", v, position, ok)
			}
		}
		if parses != distinct {
			t.Errorf("places of versions on the scale took %d parses more", parses-distinct)
		}
	}
}
