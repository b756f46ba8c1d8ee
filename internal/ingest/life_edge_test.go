package ingest

import (
	"testing"

	"github.com/redoubt/redoubt/internal/model"
)

// TestResultsImplyScanCoverage checks that reported rules count as run, and paths with results as
// searched, regardless of the report's lists.
func TestResultsImplyScanCoverage(t *testing.T) {
	seen, hidden := matched("a.py", 1, "x"), matched("b.py", 1, "y")
	neighbor := matched("a.py", 9, "y") // in the same file
	muted := func(r model.Result) model.Result { return with(r, func(r *model.Result) { r.Muted = true }) }
	for name, test := range map[string]struct {
		other  model.Result // only in the first scan
		change func(u *Upload)
		want   model.State // of the other result
	}{
		"a rule that is not among those that ran": {hidden, func(u *Upload) {
			u.DeclaredFull, u.Report.RulesRun, u.Report.Searched = false, []string{"other"}, []string{"a.py", "b.py"}
		}, model.Fixed},
		"what may be hidden, in a path that is not among those searched": {muted(neighbor), func(u *Upload) {
			u.DeclaredFull, u.Report.RulesRun, u.Report.Searched, u.Report.HidesMuted = false, []string{"eqeq"}, []string{}, true
		}, model.Muted},
		"what may be hidden, in a path with a result of a report that tells none": {muted(neighbor), func(u *Upload) { u.Report.HidesMuted = true }, model.Muted},
		"what may be hidden, in a path that is gone":                              {muted(hidden), func(u *Upload) { u.Report.HidesMuted = true }, model.Fixed},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			apply(t, m, full(seen, test.other))
			apply(t, m, upload(full(seen), test.change))
			other := observe("semgrep", test.other)[0].Finding.Identity
			var got model.State
			for _, f := range m.rows {
				if f.Identity == other {
					got = f.State
				}
			}
			if got != test.want {
				t.Errorf("the other one is %s, want %s", got, test.want)
			}
		})
	}
}

// TestMisses checks which unreported live findings a scan may have looked for.
func TestMisses(t *testing.T) {
	code := model.Finding{RuleName: "r", Path: "a.py", State: model.Unresolved}
	of := func(change func(*model.Finding)) model.Finding {
		f := code
		change(&f)
		return f
	}
	hides := Scope{Full: true, hidesMuted: true}
	for name, test := range map[string]struct {
		scope   Scope
		finding model.Finding
		want    bool
	}{
		"nothing told":                       {Scope{Full: true}, code, true},
		"the rule ran":                       {Scope{Full: true, rules: set([]string{"r"})}, code, true},
		"another rule ran":                   {Scope{Full: true, rules: set([]string{"s"})}, code, false},
		"the path was searched":              {Scope{Full: true, searched: set([]string{"a.py"})}, code, true},
		"another path was searched":          {Scope{Full: true, searched: set([]string{"b.py"})}, code, false},
		"the path was skipped":               {Scope{Full: true, searched: set([]string{}), skipped: set([]string{"a.py"})}, code, true},
		"another path, of a scan that fails": {Scope{Full: true, Failed: true, searched: set([]string{"b.py"})}, code, true},
		"a package":                          {Scope{Full: true}, of(func(f *model.Finding) { f.Package = "p" }), false},
		"of a full scan, in a diff scan":     {Scope{}, of(func(f *model.Finding) { f.SeenByFull = true }), false},
		"of a diff scan, in a diff scan":     {Scope{}, code, true},
		"muted, and told":                    {Scope{Full: true}, of(func(f *model.Finding) { f.State = model.Muted }), true},
		"muted, and hidden":                  {hides, of(func(f *model.Finding) { f.State = model.Muted }), false},
		"not muted, where muted is hidden":   {hides, code, true},
		"judged one by one":                  {Scope{Full: true, judge: func(f *model.Finding) model.State { return f.State }}, code, false},
	} {
		if got := test.scope.misses(&test.finding); got != test.want {
			t.Errorf("%s: missed is %v", name, got)
		}
	}
}
