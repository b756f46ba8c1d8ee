package globalsearch

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/model"
)

func query(t testing.TB, typed string) Query {
	t.Helper()
	q, err := ParseQuery(typed)
	if err != nil {
		t.Fatalf("%q: %v", typed, err)
	}
	return q
}

func TestNamesAreRanked(t *testing.T) {
	const none = Rank(-1)
	for _, c := range []struct {
		typed, name string
		want        Rank
	}{
		{"acme/payments", "acme/payments", RankName},
		{"  ACME/Payments ", "acme/payments", RankName},
		{"lodash", "LODASH", RankName},
		{"critical and old", "Critical  and old", RankWord}, // the query has single spaces
		{"acme/pay", "acme/payments", RankPrefix},
		{"a", "acme/payments", RankPrefix},
		{"pay", "acme/payments", RankWord},
		{"eval", "python.lang.eval-injection", RankWord},
		{"eval", "python.medieval.eval", RankWord}, // the second occurrence begins a word
		{"eval python", "python.lang.eval", RankWord},
		{"log4j core", "org.apache.logging.log4j:log4j-core", RankWord},
		{"val", "python.lang.eval", RankPart},
		{"val python", "python.lang.eval", RankPart},
		{"/pay", "acme/payments", RankWord},
		{"%", "100%", RankWord},
		{"%", "acme/payments", none},
		{"_", "acme/payments", none},
		{"eval ruby", "python.lang.eval", none},
		{"4j", "log4j", RankPart},
		{"münchen", "filiale/MÜNCHEN", RankWord},
		{"ünchen", "filiale/München", RankPart},
		{"לום", "שלום/עולם", RankPart},
		{"עולם", "שלום/עולם", RankWord},
		{"🔒", "acme/🔒vault", RankWord},
		{strings.Repeat("a", MaxText), "a", none},
	} {
		got, matches := query(t, c.typed).Rank(c.name)
		if !matches {
			got = none
		}
		if got != c.want {
			t.Errorf("%q for %q: rank %d, want %d", c.name, c.typed, got, c.want)
		}
	}
}

func TestQueriesAreBounded(t *testing.T) {
	for typed, fault := range map[string]string{
		strings.Repeat("é", MaxText):        "",
		strings.Repeat("é", MaxText+1):      "200 characters",
		strings.Repeat("a ", MaxWords):      "",
		strings.Repeat("a ", MaxWords+1):    "16 words",
		"a\x00b":                            "UTF-8",
		"\xff":                              "UTF-8",
		strings.Repeat("\xff", 2*MaxText+1): "UTF-8",
	} {
		_, err := ParseQuery(typed)
		if fault == "" && err != nil || fault != "" && (!errors.As(err, new(*model.InvalidError)) || !strings.Contains(err.Error(), fault)) {
			t.Errorf("%.20q: %v, want %q", typed, err, fault)
		}
	}
	for typed, id := range map[string]int64{"#123": 123, "123": 123, "123 4": 0, "##1": 0, "-1": 0, "#": 0, "0": 0, "4294967295": 4294967295, "4294967296": 0, "１２": 0} {
		if q := query(t, typed); q.finding != id {
			t.Errorf("%q is the finding %d, want %d", typed, q.finding, id)
		}
	}
}

func TestSearchHitsAreMarked(t *testing.T) {
	for _, c := range []struct{ typed, name, want string }{
		{"pay", "acme/Payments", "acme/[Pay]ments"},
		{"an na", "banana", "b[anana]"},
		{"ı", "ÇIĞIR", "ÇIĞIR"},
		{"i", "İstanbul", "[İ]stanbul"}, // its lower case has fewer bytes
		{"ünch", "MÜNCHEN", "M[ÜNCH]EN"},
		{"<b>", "<b>&amp;</b>", "[<b>]&amp;</b>"},
		{"none", "acme", "acme"},
		{"", "acme", "acme"},
	} {
		var got strings.Builder
		for _, p := range query(t, c.typed).Parts(c.name) {
			if p.Hit {
				p.Text = "[" + p.Text + "]"
			}
			got.WriteString(p.Text)
		}
		if got.String() != c.want {
			t.Errorf("%q in %q: %s, want %s", c.typed, c.name, &got, c.want)
		}
	}
}

// TestPartsEqualName checks that the parts of any name equal the name. If the name matches,
// one of them is a hit.
func TestPartsEqualName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typed, err := ParseQuery(rapid.StringN(0, 5, -1).Draw(t, "typed"))
		name := rapid.String().Draw(t, "name")
		if err != nil {
			t.Skip(err)
		}
		parts := typed.Parts(name)
		var joined strings.Builder
		for _, p := range parts {
			joined.WriteString(p.Text)
		}
		_, matches := typed.Rank(name)
		marked := slices.ContainsFunc(parts, func(p Part) bool { return p.Hit })
		if joined.String() != name || matches && !marked && !typed.Empty() {
			t.Fatalf("%q is cut into %v, fits: %t", name, parts, matches)
		}
	})
}
