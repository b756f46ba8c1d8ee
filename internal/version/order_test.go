package version

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// ladders lists versions in ascending order. Versions joined by a space are equal.
var ladders = map[string][]string{
	"npm":      {"0.9.0", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0 v1.0.0 1.0.0+build.5", "1.2.0", "1.10.0"},
	"PyPI":     {"1.0.dev1", "1.0a1", "1.0b2.dev1", "1.0b2", "1.0rc1 1.0c1 1.0.RC1", "1.0 1.0.0 v1.0", "1.0.post1 1.0-1", "1.1", "1.10", "2!0.1"},
	"maven":    {"1-alpha-1", "1-beta-1", "1-milestone-1", "1-rc-1 1-cr-1", "1-SNAPSHOT", "1 1.0 1-final 1.ga", "1-sp-1", "1.1", "1.10"},
	"gomod":    {"v0.0.0-20191109021931-daa7c04131f5", "v0.0.0-20210101000000-aaaaaaaaaaaa", "v1.2.3", "v1.10.0", "v2.0.0+incompatible v2.0.0"},
	"gem":      {"1.0.a", "1.0.b1", "1.0 1.0.0 1", "1.0.1", "1.2", "1.10"},
	"nuget":    {"1.0.0-ALPHA 1.0.0-alpha", "1.0.0-beta", "1.0.0 1.0", "1.0.0.1", "1.0.1"},
	"composer": {"1.0.0-dev", "1.0.0-alpha1", "1.0.0-beta2", "1.0.0-RC1 1.0.0-rc1", "1.0.0 v1.0.0", "1.0.0-p1", "1.0.1", "2010.01.02.1", "2010-01-02-p1"},
	"cargo":    {"0.1.0", "0.2.0-alpha.1", "0.2.0", "0.11.0"},
	"deb":      {"1.0~rc1-1", "1.0-1", "1.0-1ubuntu1", "1.0-10", "1:0.1"},
	"rpm":      {"1.0~rc1-1", "1.0-1", "1.0^git1-1", "1.0.1-1", "2:0.1-1"},
	"apk":      {"1.0_alpha1", "1.0_rc1", "1.0", "1.0-r1", "1.0_p1", "1.0b"},
	"hackage":  {"1.0", "1.0.1", "1.2", "1.10"},
	"cran":     {"1.0", "1.0.1 1.0-1", "1.2", "1.10"},
	"opam":     {"1", "1.rc 1.RC", "1.2", "1.2.3 v1.2.3 V1.2.3 1-2-3 1.02.3", "1.10"}, // natural order
}

func TestCompareLadders(t *testing.T) {
	for ecosystem, ladder := range ladders {
		order := OrderOf(ecosystem)
		for i, lower := range ladder {
			for j, upper := range ladder {
				for a := range strings.FieldsSeq(lower) {
					for b := range strings.FieldsSeq(upper) {
						if got, want := order.Compare(a, b), compareInts(i, j); got != want {
							t.Errorf("%s: Compare(%s, %s) = %d, want %d", ecosystem, a, b, got, want)
						}
					}
				}
			}
		}
	}
}

func compareInts(i, j int) int { return max(-1, min(1, i-j)) }

func TestIsVersion(t *testing.T) {
	tests := []struct {
		ecosystem string
		good, bad []string
	}{
		{"npm", []string{"1.2.3", "1.2", "v1.0.0-rc.1+b"}, []string{"", "latest", "^1.2.3", "1.x", "git+https://example.com/a.git#v1", "workspace:*", "1.2.3.4"}},
		{"pypi", []string{"1.0", "1!2.0rc1.post2.dev3+local.1", "2024.1"}, []string{"", "unknown", "1.0-final", ">=1.0", "1.0 beta"}},
		{"maven", []string{"1.0", "r09", "Finchley.SR1", "1.0-SNAPSHOT"}, []string{"", "RELEASE", "${project.version}", "[1.0,2.0)"}},
		{"composer", []string{"1.0", "v1.0.0-beta1"}, []string{"", "dev-main", "1.0.x-dev"}},
		{"gem", []string{"1.0", "1.0.pre"}, []string{"", "a.b", "~> 1.0"}},
		{"Debian:12", []string{"1:2.0~rc1-1+deb12u1"}, []string{"", "~1", "unstable"}},
		{"somewhere", []string{"1", "r5", "2024-01-01"}, []string{"", "main", "https://example.com/1", ">= 1"}},
	}
	for _, test := range tests {
		order := OrderOf(test.ecosystem)
		for _, s := range test.good {
			if !order.IsVersion(s) {
				t.Errorf("%s: %q is a version", test.ecosystem, s)
			}
		}
		for _, s := range append(test.bad, strings.Repeat("1", maxLength+1)) {
			if order.IsVersion(s) {
				t.Errorf("%s: %q is no version", test.ecosystem, s)
			}
		}
	}
}

// anyVersion generates versions and similar texts. Its alphabet is small, so that equal and
// adjacent versions are frequent.
func anyVersion() *rapid.Generator[string] {
	number := rapid.SampledFrom([]string{"0", "1", "2", "10", "01"})
	glue := rapid.SampledFrom([]string{".", ".", ".", "-", "_", "+", "~", "", "^", ":", "!"})
	word := rapid.SampledFrom([]string{
		"a", "b", "rc", "RC", "alpha", "beta", "dev", "post", "p", "pl", "r", "sp", "ga", "final",
		"snapshot", "SNAPSHOT", "x", "z", "git", "1", "0", "2",
	})
	return rapid.Custom(func(t *rapid.T) string {
		var s strings.Builder
		s.WriteString(rapid.SampledFrom([]string{"", "", "", "v", "1:", "1!"}).Draw(t, "prefix"))
		s.WriteString(number.Draw(t, "first"))
		for range rapid.IntRange(0, 4).Draw(t, "parts") {
			s.WriteString(glue.Draw(t, "glue"))
			s.WriteString(rapid.OneOf(number, word).Draw(t, "part"))
		}
		return s.String()
	})
}

func ecosystems() []string {
	names := []string{"unknown"}
	for name := range schemes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func TestCompareIsATotalOrder(t *testing.T) {
	for _, ecosystem := range ecosystems() {
		t.Run(ecosystem, func(t *testing.T) {
			order := OrderOf(ecosystem)
			rapid.Check(t, func(t *rapid.T) {
				checkTotalOrder(t, order, rapid.SliceOfN(anyVersion(), 3, 8).Draw(t, "versions"))
			})
		})
	}
}

// checkTotalOrder checks reflexivity, antisymmetry and transitivity, including equality, for every
// three of the versions.
func checkTotalOrder(t *rapid.T, order Order, versions []string) {
	for _, a := range versions {
		if got := order.Compare(a, a); got != 0 {
			t.Fatalf("Compare(%q, itself) = %d", a, got)
		}
		for _, b := range versions {
			ab := order.Compare(a, b)
			if ba := order.Compare(b, a); ab != -ba {
				t.Fatalf("Compare(%q, %q) = %d, the other way round %d", a, b, ab, ba)
			}
			for _, c := range versions {
				bc, ac := order.Compare(b, c), order.Compare(a, c)
				if ab <= 0 && bc <= 0 && (ac > 0 || ac == 0 && ab+bc < 0) {
					t.Fatalf("not transitive: %q %q %d, %q %q %d, but %q %q %d", a, b, ab, b, c, bc, a, c, ac)
				}
			}
		}
	}
}

func FuzzCompare(f *testing.F) {
	for ecosystem, ladder := range ladders {
		f.Add(ecosystem, ladder[0], ladder[1])
		for _, a := range garbage {
			f.Add(ecosystem, a, ladder[0])
		}
	}
	f.Fuzz(func(t *testing.T, ecosystem, a, b string) {
		order := OrderOf(ecosystem)
		if ab, ba := order.Compare(a, b), order.Compare(b, a); ab != -ba {
			t.Fatalf("%s: Compare(%q, %q) = %d, the other way round %d", ecosystem, a, b, ab, ba)
		}
		if order.Compare(a, a) != 0 {
			t.Fatalf("%s: %q is not equal to itself", ecosystem, a)
		}
	})
}

// TestVersionsAreBounded checks that a version of maxLength bytes is valid and a longer one is not.
func TestVersionsAreBounded(t *testing.T) {
	for length, want := range map[int]bool{maxLength: true, maxLength + 1: false} {
		if got := OrderOf("npm").IsVersion("1.0." + strings.Repeat("9", length-4)); got != want {
			t.Errorf("of %d signs: %t", length, got)
		}
	}
}
