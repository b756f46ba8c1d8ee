package version

import (
	"bufio"
	"compress/gzip"
	"os"
	"strconv"
	"strings"
	"testing"
)

// answer is the comparison of two versions by the ecosystem's own library.
type answer struct {
	a, b string
	sign int
}

// answers reads the results that scripts/versions recorded.
func answers(t *testing.T, name string) []answer {
	t.Helper()
	file, err := os.Open("testdata/" + name + ".tsv.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []answer
	lines := bufio.NewScanner(unzipped)
	for lines.Scan() {
		fields := strings.Split(lines.Text(), "\t")
		if len(fields) != 3 {
			t.Fatalf("%s: line %q is not two versions and a sign", name, lines.Text())
		}
		sign, err := strconv.Atoi(fields[2])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, answer{fields[0], fields[1], sign})
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// inACircle is the reason for the deviations from Maven listed in disagreements. Maven orders a
// word before any list, whatever their relation to the release. The result is cyclic: 1-alpha < 1 <
// 1.sp.1 < 1-alpha. Our total order first compares both with the release.
const inACircle = "Maven's own order runs in a circle here"

// disagreements lists the pairs in which our order intentionally differs, with the reason.
var disagreements = map[string]map[[2]string]string{
	"maven": {
		{"99.v.GA.a11", "99.v.GA.1844674407370955161511"}:                     inACircle,
		{"99.2.rc10-Final1.007", "99.2.rcrc-Final1.007"}:                      inACircle,
		{"0.10.18446744073709551615.M0", "0.10.18446744073709551615.M.jre11"}: inACircle,
		{"1-SNAPSHOT1.18446744073709551615", "1.sp-x"}:                        inACircle,
		{"11_99.1final.SNAPSHOT", "11_99.1final.2"}:                           inACircle,
	},
}

func TestOrderMatchesEcosystem(t *testing.T) {
	atLeast := map[string]int{"pypi": 3000, "npm": 1500, "maven": 4000, "go": 2000, "cargo": 2000, "gem": 3000, "composer": 3000}
	for ecosystem, count := range atLeast {
		t.Run(ecosystem, func(t *testing.T) {
			order, pairs := OrderOf(ecosystem), answers(t, ecosystem)
			if len(pairs) < count {
				t.Errorf("%d pairs, want at least %d", len(pairs), count)
			}
			explained := 0
			for _, pair := range pairs {
				if !order.IsVersion(pair.a) || !order.IsVersion(pair.b) {
					t.Errorf("%q or %q: not taken for a version", pair.a, pair.b)
				}
				_, known := disagreements[ecosystem][[2]string{pair.a, pair.b}]
				if known {
					explained++
				}
				if got := order.Compare(pair.a, pair.b); (got == pair.sign) == known {
					t.Errorf("Compare(%q, %q) = %d, the ecosystem's own library says %d; explained: %v",
						pair.a, pair.b, got, pair.sign, known)
				}
			}
			if explained != len(disagreements[ecosystem]) {
				t.Errorf("%d disagreements are explained, %d of them were asked about", len(disagreements[ecosystem]), explained)
			}
		})
	}
}

// TestNuGetRules checks the rules of NuGet's documentation on package versioning.
func TestNuGetRules(t *testing.T) {
	tests := []struct {
		a, b string
		want int
	}{
		{"1.0", "1.0.0.0", 0},
		{"1.00.0.1", "1.0.0.01", 0}, // leading zeros are ignored
		{"1.0.0-RC.1", "1.0.0-rc.1", 0},
		{"1.0.0+a", "1.0.0+b", 0},
		{"1.0.1-rc.10", "1.0.1-rc.2", 1}, // digits between dots are compared as numbers
		{"1.0.1-rc10", "1.0.1-rc2", -1},  // digits within a word are compared as text
		{"1.0.1-zzz", "1.0.1", -1},
		{"1.0.0.1-beta", "1.0.0", 1},
		{"1.0.1-alpha", "1.0.1-alpha.1", -1},
		{"1.0.1-5", "1.0.1--5", -1}, // -5 is a word
		{"99999999999999999999.0.0", "99999999999999999998.9.9", 1},
	}
	order := OrderOf("nuget")
	for _, test := range tests {
		if got, back := order.Compare(test.a, test.b), order.Compare(test.b, test.a); got != test.want || back != -test.want {
			t.Errorf("Compare(%s, %s) = %d, the other way round %d; want %d", test.a, test.b, got, back, test.want)
		}
	}
}

// garbage lists invalid versions as they occur in uploaded files.
var garbage = []string{
	"", " ", ".", "-", "+", "v", "not a version", "1..2", "1-", "-1", "1.0-", "1.0-.", "1.0+", "1!", "!1", "1:", "\x00", "\xff\xfe",
	"١.٢", "1.0\n", "1.0\t2", "${version}", "~> 1", "*", "1.x", "1e400", "0x10", strings.Repeat("9", maxLength),
	strings.Repeat("1-", maxLength/2), strings.Repeat("a1", maxLength/2), "1" + strings.Repeat(".0", maxLength/2-1),
	strings.Repeat("1.", 1<<12), strings.Repeat("-", 1<<12),
}

func TestInvalidVersionsAreOrdered(t *testing.T) {
	for _, ecosystem := range ecosystems() {
		order := OrderOf(ecosystem)
		for _, a := range garbage {
			r, err := ParseRange("1.0", "")
			if err != nil {
				t.Fatal(err)
			}
			if !order.IsVersion(a) && r.In(ecosystem)(a) {
				t.Errorf("%s: %.40q is no version and lies within bounds", ecosystem, a)
			}
			for _, b := range append(garbage, "1.0.0") {
				ab, ba := order.Compare(a, b), order.Compare(b, a)
				if ab != -ba || order.IsVersion(b) && !order.IsVersion(a) && ab != -1 {
					t.Errorf("%s: Compare(%.40q, %.40q) = %d, the other way round %d", ecosystem, a, b, ab, ba)
				}
			}
		}
	}
}
