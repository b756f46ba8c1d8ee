package version

import (
	"testing"

	"pgregory.net/rapid"
)

func TestRange(t *testing.T) {
	tests := []struct {
		ecosystem, lower, upper string
		in, out                 []string
	}{
		{"npm", "", "", []string{"1.0.0", "latest", ""}, nil},
		{"npm", "1.2.0", "2.0.0", []string{"1.2.0", "1.10.0", "2.0.0", "2.0.0-rc.1"}, []string{"1.1.9", "2.0.1", "latest", ""}},
		{"npm", ">1.2.0", "<2.0.0", []string{"1.2.1", "1.10.0"}, []string{"1.2.0", "2.0.0"}},
		{"npm", " >= 1.2.0 ", "<= 2.0.0", []string{"1.2.0", "2.0.0"}, []string{"1.1.0", "2.1.0"}},
		{"npm", "=1.2.0", "", []string{"1.2.0", "v1.2.0"}, []string{"1.2.1"}},
		{"npm", "==1.2.0", "", []string{"1.2.0"}, []string{"1.2.1"}},
		{"npm", "<1.2.0", "", []string{"1.1.0"}, []string{"1.2.0", "1.3.0"}},
		{"pypi", "1.0", "1.0.post9", []string{"1.0.0", "1.0.post1"}, []string{"1.0rc1", "1.0.1"}},
		{"Maven", "1.0-rc1", "1.0", []string{"1.0-SNAPSHOT", "1.0.0"}, []string{"1.0-beta-9", "1.0-sp"}},
		{"opam", "2", "", []string{"2", "2.1", "10"}, []string{"1.9", "dev"}},
	}
	for _, test := range tests {
		r, err := ParseRange(test.lower, test.upper)
		if err != nil {
			t.Errorf("ParseRange(%q, %q): %v", test.lower, test.upper, err)
			continue
		}
		contains := r.In(test.ecosystem)
		for _, v := range test.in {
			if !contains(v) {
				t.Errorf("%s: %q lies within %q … %q", test.ecosystem, v, test.lower, test.upper)
			}
		}
		for _, v := range test.out {
			if contains(v) {
				t.Errorf("%s: %q lies outside of %q … %q", test.ecosystem, v, test.lower, test.upper)
			}
		}
	}
}

func TestParseRangeRejectsInvalidBounds(t *testing.T) {
	for _, bad := range []string{">=", "<", "> = 1", ">=1,<2", "=>1", "1 <2", "main", "^1.2", "1.x", "*", "1.*"} {
		if _, err := ParseRange(bad, ""); err == nil {
			t.Errorf("ParseRange(%q) as lower bound: no error", bad)
		}
		if _, err := ParseRange("", bad); err == nil {
			t.Errorf("ParseRange(%q) as upper bound: no error", bad)
		}
	}
}

// TestRangeAgreesWithCompare checks that a range contains the versions that satisfy both bounds.
func TestRangeAgreesWithCompare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ecosystem := rapid.SampledFrom(ecosystems()).Draw(t, "ecosystem")
		lower, upper, v := anyVersion().Filter(isBound).Draw(t, "lower"), anyVersion().Filter(isBound).Draw(t, "upper"), anyVersion().Draw(t, "version")
		r, err := ParseRange(lower, "<"+upper)
		if err != nil {
			t.Fatal(err)
		}
		order := OrderOf(ecosystem)
		want := order.IsVersion(lower) && order.IsVersion(upper) && order.IsVersion(v) &&
			order.Compare(v, lower) >= 0 && order.Compare(v, upper) < 0
		if got := r.In(ecosystem)(v); got != want {
			t.Fatalf("%s: %q within %q and below %q: %v, want %v", ecosystem, v, lower, upper, got, want)
		}
	})
}
