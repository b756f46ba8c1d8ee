package ingest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redoubt/redoubt"
)

// alike is a finding of a rule in a file: its letters say what of its code is known,
// each letter another code, pattern or edge; "-" is nothing.
func alike(id int64, line int, kind redoubt.IdentityKind, code, pattern, edges string) redoubt.Finding {
	digest := func(s string) (d redoubt.Digest) {
		if s != "-" {
			d[0] = s[0]
		}
		return d
	}
	return redoubt.Finding{
		ID: id, RuleName: "rules.eqeq", Path: "a.py", Line: line, IssueType: redoubt.SAST, SeenByFull: true, State: redoubt.Unresolved,
		Identity: redoubt.Identity{Kind: kind, Hash: redoubt.Digest{byte(id), byte(line)}}, CodeHash: digest(code), PatternHash: digest(pattern), EdgeHash: digest(edges),
	}
}

// TestPairUp: who is whom, of what a scan would close and what it sees first. Matches are
// as long as their lines have hundreds.
func TestPairUp(t *testing.T) {
	const matched, own = redoubt.IdentityMatchBased, redoubt.IdentityOwn
	full := Scope{Full: true, searched: map[string]bool{"b.py": true}}
	here := Scope{Full: true, searched: map[string]bool{"a.py": true, "b.py": true}}
	at := func(path string, f redoubt.Finding) redoubt.Finding { f.Path = path; return f }
	pkg := func(name string, f redoubt.Finding) redoubt.Finding { f.Package = name; return f }
	list := func(f ...redoubt.Finding) []redoubt.Finding { return f }
	for name, c := range map[string]struct {
		scope        Scope
		stands       bool // the text of the rules is as it was
		rows, unseen []redoubt.Finding
		want         string // row>line of the sighting, with ! where it moved
	}{
		"a rule that changed its text":                   {here, false, list(alike(1, 3, matched, "x", "-", "-")), list(alike(0, 9, matched, "x", "-", "-")), "1>9!"},
		"a rule of the same text, told in full":          {here, true, list(alike(1, 3, matched, "x", "-", "-")), list(alike(0, 9, matched, "x", "-", "-")), ""},
		"a rule of the same text, by a report with less": {here, true, list(alike(1, 3, matched, "x", "-", "-")), list(alike(0, 9, own, "x", "-", "-")), "1>9!"},
		"other code":                                        {here, false, list(alike(1, 3, matched, "x", "-", "-")), list(alike(0, 9, matched, "y", "-", "-")), ""},
		"code that is not told any more":                    {here, true, list(alike(1, 3, matched, "x", "-", "-")), list(alike(0, 9, own, "-", "-", "-")), "1>9"},
		"code that was not told":                            {here, true, list(alike(1, 3, own, "-", "-", "-")), list(alike(0, 9, own, "x", "-", "-")), "1>9"},
		"code that is not told any more, of another length": {here, true, list(alike(1, 3, matched, "x", "-", "-")), list(alike(0, 109, own, "-", "-", "-")), ""},
		"of two lengths, by length":                         {here, true, list(alike(1, 3, matched, "x", "-", "-"), alike(2, 101, matched, "y", "-", "-")), list(alike(0, 109, own, "-", "-", "-"), alike(0, 9, own, "-", "-", "-")), "1>9 2>109"},
		"nothing told on either side, alike":                {here, true, list(alike(1, 3, own, "-", "-", "e")), list(alike(0, 9, own, "-", "-", "e")), ""},
		"nothing told on either side":                       {here, true, list(alike(1, 3, own, "-", "-", "-")), list(alike(0, 9, own, "-", "-", "-")), ""},
		"code that is not told any more, by the order":      {here, true, list(alike(1, 1, own, "x", "-", "-"), alike(2, 5, own, "y", "-", "-")), list(alike(0, 5, own, "-", "-", "-"), alike(0, 9, own, "-", "-", "-")), "1>5 2>9"},
		"one more of which no code is told":                 {here, true, list(alike(1, 1, own, "x", "-", "-"), alike(2, 5, own, "y", "-", "-")), list(alike(0, 1, own, "-", "-", "-"), alike(0, 5, own, "-", "-", "-"), alike(0, 9, own, "-", "-", "-")), ""},
		"a dependency beside it":                            {here, true, list(alike(1, 3, own, "x", "-", "-"), pkg("p", alike(2, 3, own, "x", "-", "-"))), list(alike(0, 9, own, "-", "-", "-")), "1>9"},
		"equal code, by its order":                          {here, false, list(alike(2, 5, matched, "x", "-", "-"), alike(1, 1, matched, "x", "-", "-")), list(alike(0, 7, matched, "x", "-", "-"), alike(0, 2, matched, "x", "-", "-")), "1>2! 2>7!"},
		"one more of equal code":                            {here, false, list(alike(1, 1, matched, "x", "-", "-")), list(alike(0, 7, matched, "x", "-", "-"), alike(0, 2, matched, "x", "-", "-")), ""},
		"a file that moved":                                 {full, true, list(alike(1, 3, matched, "x", "p", "-")), list(at("b.py", alike(0, 3, matched, "x", "p", "-"))), "1>3!"},
		"a file that moved, whose pattern was not told":     {full, true, list(alike(1, 3, matched, "x", "-", "-")), list(at("b.py", alike(0, 3, matched, "x", "p", "-"))), "1>3!"},
		"a file that moved, whose pattern is not told":      {full, true, list(alike(1, 3, matched, "x", "p", "-")), list(at("b.py", alike(0, 3, matched, "x", "-", "-"))), "1>3!"},
		"a file that moved, with another pattern":           {full, true, list(alike(1, 3, matched, "x", "p", "-")), list(at("b.py", alike(0, 3, matched, "x", "q", "-"))), ""},
		"a file that is there still":                        {here, true, list(alike(1, 3, matched, "x", "p", "-")), list(at("b.py", alike(0, 3, matched, "x", "p", "-"))), ""},
		"a match that was edited within":                    {here, true, list(alike(1, 3, matched, "x", "-", "e")), list(alike(0, 9, matched, "y", "-", "e")), "1>9"},
		"nothing to close":                                  {here, true, nil, list(alike(0, 9, own, "x", "-", "-")), ""},
		"nothing seen first":                                {here, true, list(alike(1, 9, own, "x", "-", "-")), nil, ""},
	} {
		var rows []*redoubt.Finding
		for i := range c.rows {
			rows = append(rows, &c.rows[i])
		}
		var unseen []*Sighting
		for _, f := range c.unseen {
			unseen = append(unseen, &Sighting{Result: &redoubt.Result{Location: redoubt.Location{Line: 1, EndLine: 1, Column: 1, EndColumn: 1 + f.Line/100}}, Finding: f})
		}
		like := likenesses{
			stands: func(*redoubt.Finding) bool { return c.stands }, outline: func(f *redoubt.Finding) outline { return outline{length: f.Line / 100} },
			owned: func(redoubt.Identity) bool { return false },
		}
		pairs, left, alone := pairUp(c.scope, like, rows, unseen)
		if got := shownPairs(pairs); got != c.want || len(left)+len(pairs) != len(rows) || len(alone)+len(pairs) != len(unseen) {
			t.Errorf("%s: %q, want %q; %d and %d stay alone", name, got, c.want, len(left), len(alone))
		}
	}
}

func shownPairs(pairs []pair) string {
	var told []string
	for _, p := range pairs {
		moved := ""
		if p.moved {
			moved = "!"
		}
		told = append(told, fmt.Sprint(p.row.ID, ">", p.sighting.Finding.Line, moved))
	}
	return strings.Join(told, " ")
}

// TestPairRenamedRules: what a full scan leaves alone since its rule did not run, and
// what the rule from another folder sees.
func TestPairRenamedRules(t *testing.T) {
	row := alike(1, 3, redoubt.IdentityMatchBased, "x", "-", "-")
	row.RuleName = "old.eqeq"
	for name, c := range map[string]struct {
		scope Scope
		want  string
	}{
		"a full scan":                   {Scope{Full: true, rules: map[string]bool{"rules.eqeq": true}, searched: map[string]bool{"a.py": true}}, "1>9!"},
		"a part of one":                 {Scope{rules: map[string]bool{"rules.eqeq": true}, searched: map[string]bool{"a.py": true}}, ""},
		"one that failed":               {Scope{Full: true, Failed: true, rules: map[string]bool{"rules.eqeq": true}, searched: map[string]bool{"a.py": true}}, ""},
		"one that ran the rule too":     {Scope{Full: true, rules: map[string]bool{"rules.eqeq": true, "old.eqeq": true}, searched: map[string]bool{"a.py": true}}, ""},
		"one that passed the file over": {Scope{Full: true, rules: map[string]bool{"rules.eqeq": true}, searched: map[string]bool{"b.py": true}, skipped: map[string]bool{"a.py": true}}, ""},
	} {
		seen := &Sighting{Finding: alike(0, 9, redoubt.IdentityMatchBased, "x", "-", "-")}
		pairs, _, others := c.scope.pairRenamedRules([]*redoubt.Finding{&row}, []*Sighting{seen})
		if got := shownPairs(pairs); got != c.want || len(others)+len(pairs) != 1 {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	silent := alike(1, 3, redoubt.IdentityOwn, "-", "-", "-")
	scope := Scope{Full: true, rules: map[string]bool{}, searched: map[string]bool{"a.py": true}}
	if pairs, _, _ := scope.pairRenamedRules([]*redoubt.Finding{&silent}, []*Sighting{{Finding: silent}}); len(pairs) > 0 {
		t.Error("what tells no code pairs by its rule's name")
	}
}

// TestRuleStands: a rule is known to be the same where its text is, of what the
// scanner's own id is known.
func TestRuleStands(t *testing.T) {
	served := servedRules(map[*redoubt.Rule]int64{{Version: 2}: 5, {Version: 0}: 6})
	if len(served) != 1 || !served[5] {
		t.Errorf("served are %v", served)
	}
	p := &planner{served: served}
	var stand []int64
	for id, f := range []redoubt.Finding{
		alike(0, 1, redoubt.IdentityMatchBased, "x", "-", "-"), alike(1, 1, redoubt.IdentityOwn, "x", "-", "-"), alike(2, 1, redoubt.IdentityMatchBased, "x", "-", "-"),
	} {
		if f.RuleID = 5; id == 2 {
			f.RuleID = 6
		}
		if p.ruleStands(&f) {
			stand = append(stand, int64(id))
		}
	}
	if !slices.Equal(stand, []int64{0}) {
		t.Errorf("known to stand are %v", stand)
	}
}
