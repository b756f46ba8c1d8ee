package advisory

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
)

func TestDescribe(t *testing.T) {
	many := make([]string, 21)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	for want, a := range map[string]*Affected{
		"":                            {},
		"all":                         ranged(from("0")),
		"all before 1.2":              ranged(from("0"), fixedAt("1.2")),
		"from 1.0 up to 1.4":          ranged(from("1.0"), last("1.4")),
		"from 1.0":                    {Ranges: []Range{{[]Event{from("1.0")}}}, Versions: []string{"1.0"}},
		"all before 1 from 2":         {Ranges: []Range{{[]Event{from("0"), fixedAt("1")}}, {[]Event{from("2")}}}},
		"1.0, 1.1":                    {Versions: []string{"1.0", "1.1"}},
		strings.Join(many[:20], ", "): {Versions: many},
	} {
		if got := a.Describe(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestUnion checks that adjacent spans are merged.
func TestUnion(t *testing.T) {
	got := union([]span{{7, 9}, {3, 5}, {0, 3}, {6, 6}, {8, 8}, {4, 5}})
	if diff := cmp.Diff([]span{{0, 5}, {6, 6}, {7, 9}}, got, cmp.AllowUnexported(span{})); diff != "" {
		t.Error(diff)
	}
}

// TestOtherVersionSpellingIsNotUpgrade checks that another spelling of a listed version is not an upgrade.
func TestOtherVersionSpellingIsNotUpgrade(t *testing.T) {
	entry := entryOf("pypi", []*Affected{{Versions: []string{"1.0"}, Ranges: []Range{{[]Event{from("0.5"), fixedAt("1.0.0")}}}}})
	if got := entry.verdictOn("1.0"); len(got.groups) != 1 || got.fixes[0] != "" {
		t.Errorf("the verdict on 1.0 is %+v", got)
	}
	if got := entry.verdictOn("0.9"); len(got.groups) != 1 || got.fixes[0] != "1.0.0" {
		t.Errorf("the verdict on 0.9 is %+v", got)
	}
}

// TestVerdictsAreBounded checks the limit of cached verdicts.
func TestVerdictsAreBounded(t *testing.T) {
	versions := make([]string, maxVerdicts+2)
	for i := range versions {
		versions[i] = fmt.Sprintf("1.%d.0", i)
	}
	entry := entryOf("npm", []*Affected{{Versions: versions}})
	for i, v := range versions {
		if got := entry.verdictOn(v); len(got.groups) != 1 {
			t.Fatalf("%s is not affected", v)
		}
		if n := len(entry.verdicts); n > maxVerdicts || i < maxVerdicts && n != i+1 {
			t.Fatalf("after %d verdicts %d are remembered", i+1, n)
		}
	}
}

// TestLowestFirst checks that versions are in the ecosystem's order, after invalid ones in a
// separate order.
func TestLowestFirst(t *testing.T) {
	entry := entryOf("npm", []*Affected{{Versions: []string{"main-10", "main-9"}, Ranges: []Range{{[]Event{from("0"), fixedAt("2.0.0")}}}}})
	var given []*model.MatchDependency
	for _, v := range []string{"1.10.0", "3.0.0", "1.9.0", "main-10", "1.9.0", "v1.2.0", "main-9"} {
		given = append(given, &model.MatchDependency{Version: v})
	}
	var got []string
	for _, d := range entry.lowestFirst(given) {
		got = append(got, d.Version)
	}
	if want := "main-9 main-10 v1.2.0 1.9.0 1.9.0 1.10.0"; strings.Join(got, " ") != want {
		t.Errorf("%s, want %s", strings.Join(got, " "), want)
	}
}
