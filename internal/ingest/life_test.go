package ingest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt"
)

// matched is a result with the scanner's identity and hashes, as semgrep ci
// sends it.
func matched(path string, line int, code string) redoubt.Result {
	r := result(eqeq, path, line, "")
	r.MatchBasedID = "eqeq " + path + " " + code
	r.CodeHash, r.PatternHash = code, "pattern of "+code
	return r
}

// upload changes one.
func upload(u Upload, change func(*Upload)) Upload {
	report := *u.Report
	u.Report = &report
	change(&u)
	return u
}

// states shows findings by path as "state triage", for what is not removed from sight.
func states(m *memory) map[string]string {
	out := map[string]string{}
	for _, f := range m.rows {
		out[f.Path] = f.State.String()
		if t := m.lineages[f.LineageID].Triage.State; t != redoubt.TriageUntriaged {
			out[f.Path] += " " + t.String()
		}
	}
	return out
}

func TestClosing(t *testing.T) {
	a, b := matched("a.py", 1, "x"), matched("b.py", 1, "y")
	refused := func(rule string) redoubt.Result { // of b.py: it names no package
		return redoubt.Result{Rule: &redoubt.Rule{Name: rule, IssueType: redoubt.SCA}, Path: "b.py", Dependency: &redoubt.Vulnerable{}}
	}
	tells := func(u *Upload) {
		u.DeclaredFull, u.Report.RulesRun, u.Report.Searched = false, []string{"eqeq"}, []string{"a.py", "b.py"}
	}
	for name, test := range map[string]struct {
		change func(u *Upload) // of a full scan that sees a.py only
		want   string          // state of the finding in b.py
	}{
		"searched, and the rule ran":              {tells, "fixed"},
		"gone, and the rule ran":                  {func(u *Upload) { tells(u); u.Report.Searched = []string{"a.py"} }, "fixed"},
		"skipped":                                 {func(u *Upload) { tells(u); u.Report.Searched, u.Report.Skipped = []string{"a.py"}, []string{"b.py"} }, "unresolved"},
		"searched, and skipped for an error":      {func(u *Upload) { tells(u); u.Report.Skipped = []string{"b.py"} }, "unresolved"},
		"a manifest that was not resolved":        {func(u *Upload) { tells(u); u.Report.Unresolved = []string{"b.py"} }, "fixed"},
		"the rule did not run":                    {func(u *Upload) { tells(u); u.Report.Results, u.Report.RulesRun = nil, []string{"other"} }, "unresolved"},
		"no rule ran":                             {func(u *Upload) { tells(u); u.Report.Results, u.Report.RulesRun = nil, []string{} }, "unresolved"},
		"reported, and refused":                   {func(u *Upload) { u.Report.Results = append(u.Report.Results, refused("eqeq")) }, "unresolved"},
		"refused of another rule":                 {func(u *Upload) { u.Report.Results = append(u.Report.Results, refused("other")) }, "fixed"},
		"rules not told":                          {func(u *Upload) { tells(u); u.Report.RulesRun = nil }, "fixed"},
		"paths not told":                          {func(u *Upload) { tells(u); u.Report.Searched = nil }, "unresolved"},
		"neither told, declared full":             {func(*Upload) {}, "fixed"},
		"rules not told, declared full":           {func(u *Upload) { tells(u); u.DeclaredFull, u.Report.RulesRun = true, nil }, "fixed"},
		"declared full, and skipped":              {func(u *Upload) { u.Report.Skipped = []string{"b.py"} }, "unresolved"},
		"declared full, and the rule did not run": {func(u *Upload) { u.Report.RulesRun = []string{}; u.Report.Results = nil }, "unresolved"},
		"a failed run":                            {func(u *Upload) { u.Report.Failed = true }, "unresolved"},
		"a diff scan":                             {func(u *Upload) { tells(u); u.Full = false }, "unresolved"},
		"another source":                          {func(u *Upload) { u.Report.Tool = "bandit" }, "unresolved"},
		"another category":                        {func(u *Upload) { u.Category = "ios" }, "unresolved"},
		"another ref":                             {func(u *Upload) { u.Ref = "dev" }, "unresolved"},
		"another edition of the same tool":        {func(u *Upload) { u.Report.Tool = "Opengrep OSS" }, "fixed"},
		"the rule left the policy":                {func(u *Upload) { u.OutOfPolicy = func(rule, _ string) bool { return rule == "eqeq" } }, "removed"},
		"the path left the policy, and did not run": {func(u *Upload) {
			tells(u)
			u.Report.RulesRun = nil
			u.OutOfPolicy = func(_, path string) bool { return path == "b.py" }
		}, "removed"},
		"the policy, in a failed run": {func(u *Upload) { u.Report.Failed = true; u.OutOfPolicy = func(string, string) bool { return true } }, "unresolved"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			apply(t, m, full(a, b))
			apply(t, m, upload(full(a), test.change))
			if got := states(m)["b.py"]; got != test.want {
				t.Errorf("b.py is %s, want %s", got, test.want)
			}
		})
	}
}

// What could not be read as a manifest says nothing of the packages in it, and
// everything of its code.
func TestAManifestThatWasNotResolved(t *testing.T) {
	vulnerable := func(path string) redoubt.Result {
		return redoubt.Result{
			Rule: &redoubt.Rule{Name: "old-lodash", IssueType: redoubt.SCA}, Path: path, Location: redoubt.Location{Line: 3}, Message: "m",
			Dependency: &redoubt.Vulnerable{Ecosystem: "npm", Package: "lodash", Version: "4.0.0", Lockfile: path},
		}
	}
	m := newMemory()
	apply(t, m, full(matched("package-lock.json", 1, "x"), vulnerable("package-lock.json"), vulnerable("web/yarn.lock")))
	again := upload(full(), func(u *Upload) {
		u.DeclaredFull = false
		u.Report.RulesRun, u.Report.Searched = []string{"eqeq", "old-lodash"}, []string{"package-lock.json", "web/yarn.lock"}
		u.Report.Unresolved = []string{"package-lock.json"}
	})
	apply(t, m, again)
	got := map[string]string{}
	for _, f := range m.rows {
		got[f.RuleName+" "+f.Path] = f.State.String()
	}
	want := map[string]string{"eqeq package-lock.json": "fixed", "old-lodash package-lock.json": "unresolved", "old-lodash web/yarn.lock": "fixed"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
}

func TestDiffScanClosesItsOwn(t *testing.T) {
	diff := func(results ...redoubt.Result) Upload {
		return upload(full(results...), func(u *Upload) {
			u.Full, u.DeclaredFull = false, false
			u.Report.RulesRun, u.Report.Searched = []string{"eqeq"}, []string{}
		})
	}
	m := newMemory()
	apply(t, m, full(matched("seen by full.py", 1, "x")))
	apply(t, m, diff(matched("a.py", 1, "a"), matched("b.py", 1, "b"), matched("c.py", 1, "c")))
	apply(t, m, upload(diff(matched("a.py", 1, "a")), func(u *Upload) { u.Report.Skipped = []string{"c.py"} }))
	want := map[string]string{"seen by full.py": "unresolved", "a.py": "unresolved", "b.py": "fixed", "c.py": "unresolved"}
	if diff := cmp.Diff(want, states(m)); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
}

func TestReturning(t *testing.T) {
	for name, test := range map[string]struct {
		triage redoubt.TriageState
		muted  bool
		want   string
	}{
		"untriaged": {redoubt.TriageUntriaged, false, "unresolved"},
		"ignored":   {redoubt.TriageIgnored, false, "unresolved ignored"},
		"reviewing": {redoubt.TriageReviewing, false, "unresolved reopened"},
		"fixing":    {redoubt.TriageFixing, false, "unresolved reopened"},
		"reopened":  {redoubt.TriageReopened, false, "unresolved reopened"},
		"muted":     {redoubt.TriageFixing, true, "muted fixing"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			first := apply(t, m, full(matched("a.py", 1, "x")))
			row := m.rows[first.Items[0].FindingID]
			before := redoubt.Triage{State: test.triage, Comment: "c", By: redoubt.Actor{Kind: "token"}}
			m.lineages[row.LineageID].Triage = before
			apply(t, m, full())
			back := matched("a.py", 1, "x")
			back.Muted = test.muted
			sum := apply(t, m, full(back))
			if sum.Returned != 1 || sum.Items[0].FindingID != row.ID {
				t.Errorf("summary: %+v", sum)
			}
			if got := states(m)["a.py"]; got != test.want {
				t.Errorf("a.py is %s, want %s", got, test.want)
			}
			now := m.rows[row.ID]
			if !now.RelevantSince.Equal(m.clock) || !now.StateUpdatedAt.Equal(m.clock) || !now.CreatedAt.Equal(row.CreatedAt) {
				t.Errorf("times: %+v", now.Finding)
			}
			var trail []redoubt.TriageEvent
			if after := m.lineages[row.LineageID].Triage; after.State != test.triage {
				by := redoubt.Actor{Kind: "scan", ID: fmt.Sprint(sum.ScanID), Name: "semgrep"}
				want := redoubt.Triage{State: redoubt.TriageReopened, Comment: "c", At: m.clock, By: by, Automatic: true}
				trail = []redoubt.TriageEvent{{LineageID: row.LineageID, At: m.clock, By: by, Before: before, After: want}}
			}
			if diff := cmp.Diff(trail, m.trail); diff != "" {
				t.Errorf("trail (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMuting(t *testing.T) {
	m := newMemory()
	silenced := matched("a.py", 1, "x")
	silenced.Muted = true
	steps := []struct {
		result redoubt.Result
		want   string
		events int
	}{
		{matched("a.py", 1, "x"), "unresolved", 0},
		{silenced, "muted", 1},
		{matched("a.py", 1, "x"), "unresolved", 2},
	}
	for i, step := range steps {
		sum := apply(t, m, full(step.result))
		if got := states(m)["a.py"]; got != step.want || len(m.events) != step.events || len(m.trail) != 0 {
			t.Errorf("step %d: %s, want %s; %d events, want %d", i, got, step.want, len(m.events), step.events)
		}
		if muted := step.want == "muted"; muted != (sum.Counts.Code == 0) {
			t.Errorf("step %d: counts %+v", i, sum.Counts)
		}
		for _, f := range m.rows {
			if !f.RelevantSince.Equal(f.CreatedAt) || f.StateUpdatedAt.IsZero() != (i == 0) {
				t.Errorf("step %d: times %+v", i, f.Finding)
			}
		}
	}
}

func TestMoves(t *testing.T) {
	plain := func(path string, line int, code string) redoubt.Result { return result(eqeq, path, line, code) }
	retold := matched("app/a.py", 9, "x")
	retold.MatchBasedID, retold.PatternHash = "eqeq with another text", "another pattern"
	elsewhere := retold
	elsewhere.Path = "lib/app/a.py"
	for name, test := range map[string]struct {
		before, after []redoubt.Result
		change        func(*Upload)
		moved         int
	}{
		"a file":                    {before: []redoubt.Result{matched("app/a.py", 1, "x")}, after: []redoubt.Result{matched("lib/app/a.py", 4, "x")}, moved: 1},
		"a file, without hashes":    {before: []redoubt.Result{plain("app/a.py", 1, "x  == x")}, after: []redoubt.Result{plain("lib/app/a.py", 4, "x == x")}, moved: 1},
		"a file, nothing told":      {before: []redoubt.Result{plain("app/a.py", 1, "")}, after: []redoubt.Result{plain("lib/app/a.py", 4, "")}, moved: 1},
		"other code":                {before: []redoubt.Result{matched("app/a.py", 1, "x")}, after: []redoubt.Result{matched("lib/app/a.py", 4, "y")}},
		"one became two":            {before: []redoubt.Result{matched("app/a.py", 1, "x")}, after: []redoubt.Result{matched("lib/app/a.py", 4, "x"), matched("src/app/a.py", 4, "x")}},
		"two became one":            {before: []redoubt.Result{matched("app/a.py", 1, "x"), matched("lib/app/a.py", 1, "x")}, after: []redoubt.Result{matched("src/app/a.py", 4, "x")}},
		"two, by name":              {before: []redoubt.Result{matched("app/a.py", 1, "x"), matched("app/n.py", 1, "x")}, after: []redoubt.Result{matched("lib/app/n.py", 4, "x"), matched("lib/app/a.py", 4, "x")}, moved: 2},
		"another name":              {before: []redoubt.Result{matched("app/a.py", 1, "x")}, after: []redoubt.Result{matched("lib/app/n.py", 4, "x")}},
		"another folder":            {before: []redoubt.Result{matched("app/a.py", 1, "x")}, after: []redoubt.Result{matched("lib/a.py", 4, "x")}},
		"the file is still there":   {before: []redoubt.Result{matched("app/a.py", 1, "x")}, after: []redoubt.Result{matched("lib/app/a.py", 4, "x")}, change: func(u *Upload) { u.Report.Searched = []string{"app/a.py", "lib/app/a.py"} }},
		"the file was skipped":      {before: []redoubt.Result{matched("app/a.py", 1, "x")}, after: []redoubt.Result{matched("lib/app/a.py", 4, "x")}, change: func(u *Upload) { u.Report.Skipped = []string{"app/a.py"} }},
		"a failed run":              {before: []redoubt.Result{matched("app/a.py", 1, "x")}, after: []redoubt.Result{matched("lib/app/a.py", 4, "x")}, change: func(u *Upload) { u.Report.Failed = true }},
		"a diff scan":               {before: []redoubt.Result{matched("app/a.py", 1, "x")}, after: []redoubt.Result{matched("lib/app/a.py", 4, "x")}, change: func(u *Upload) { u.Full, u.DeclaredFull = false, false }},
		"a rule's text":             {before: []redoubt.Result{matched("app/a.py", 1, "x")}, after: []redoubt.Result{retold}, moved: 1},
		"a rule's text and a file":  {before: []redoubt.Result{matched("app/a.py", 1, "x")}, after: []redoubt.Result{elsewhere}, moved: 1},
		"the same, only lines down": {before: []redoubt.Result{matched("app/a.py", 1, "x")}, after: []redoubt.Result{matched("app/a.py", 5, "x")}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			first := apply(t, m, full(test.before...))
			for _, l := range m.lineages {
				l.Triage.State = redoubt.TriageFixing
			}
			start := m.clock
			u := full(test.after...)
			if test.change != nil {
				u = upload(u, test.change)
			}
			sum := apply(t, m, u)
			if sum.Moved != test.moved {
				t.Fatalf("summary: %+v", sum)
			}
			if test.moved == 0 {
				return
			}
			if sum.New != 0 || sum.Closed != 0 || len(m.rows) != len(first.Items) || len(m.trail) != 0 || len(m.lineages) != len(first.Items) {
				t.Errorf("something is fixed, new or triaged: %+v", sum)
			}
			for i, item := range first.Items { // both sides are ordered by path
				now := m.rows[item.FindingID]
				if want := test.after[len(test.after)-1-i]; now.Path != want.Path || now.Line != want.Location.Line {
					t.Errorf("finding %d is at %s:%d, want %s:%d", now.ID, now.Path, now.Line, want.Path, want.Location.Line)
				}
				if !now.CreatedAt.Equal(start) || !now.RelevantSince.Equal(start) || m.lineages[now.LineageID].Triage.State != redoubt.TriageFixing {
					t.Errorf("dates or triage are not kept: %+v", now.Finding)
				}
				want := redoubt.FindingEvent{FindingID: item.FindingID, ScanID: sum.ScanID, Kind: redoubt.EventMoved}
				want.Detail = fmt.Sprintf(`{"from":%q,"from_line":%d,"to":%q,"to_line":%d}`, item.Path, item.Line, now.Path, now.Line)
				if diff := cmp.Diff(want, m.events[i]); diff != "" {
					t.Errorf("event (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// A file that moved on one ref was first seen under its new path on another:
// what were two findings proves to be one.
func TestLineagesMerge(t *testing.T) {
	person, worker := redoubt.Actor{Kind: "token"}, redoubt.Actor{Kind: "system"}
	none := redoubt.Triage{State: redoubt.TriageUntriaged}
	human := redoubt.Triage{State: redoubt.TriageIgnored, By: person}
	later := redoubt.Triage{State: redoubt.TriageFixing, By: person}
	auto := redoubt.Triage{State: redoubt.TriageReviewing, By: worker, Automatic: true}
	for name, test := range map[string]struct{ older, younger, want redoubt.Triage }{
		"nobody decided":              {none, none, none},
		"the younger was decided":     {none, human, human},
		"the older was decided":       {human, none, human},
		"a person beats a worker":     {auto, human, human},
		"also the other way round":    {human, auto, human},
		"a worker beats nobody":       {none, auto, auto},
		"of two persons the older is": {human, later, human},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			older := m.rows[apply(t, m, full(matched("app/a.py", 1, "x"))).Items[0].FindingID]
			younger := m.rows[apply(t, m, upload(full(matched("lib/app/a.py", 1, "x")), func(u *Upload) { u.Ref = "dev" })).Items[0].FindingID]
			m.lineages[older.LineageID].Triage, m.lineages[younger.LineageID].Triage = test.older, test.younger
			m.lineages[younger.LineageID].Annotations.EPSS = &redoubt.EPSS{Score: 0.5}
			sum := apply(t, m, full(matched("lib/app/a.py", 1, "x")))
			if sum.Moved != 1 || len(m.lineages) != 1 || m.rows[younger.ID].LineageID != older.LineageID {
				t.Fatalf("%+v; %d lineages", sum, len(m.lineages))
			}
			l := m.lineages[older.LineageID]
			if diff := cmp.Diff(test.want, l.Triage); diff != "" {
				t.Errorf("triage (-want +got):\n%s", diff)
			}
			if l.Annotations.EPSS == nil {
				t.Error("the younger one's annotations are lost")
			}
			if changed := test.want != test.older; changed != (len(m.trail) == 1) {
				t.Errorf("%d lines in the trail", len(m.trail))
			}
		})
	}
}

// A diff scan's own find under a path that is gone may have been mended there.
func TestDiffScanMovesNothing(t *testing.T) {
	diff := func(results ...redoubt.Result) Upload {
		return upload(full(results...), func(u *Upload) {
			u.Full, u.DeclaredFull = false, false
			u.Report.RulesRun, u.Report.Searched = []string{"eqeq"}, []string{}
		})
	}
	m := newMemory()
	apply(t, m, diff(matched("a.py", 1, "x")))
	if sum := apply(t, m, diff(matched("b.py", 1, "x"))); sum.Moved != 0 || sum.Closed != 1 || sum.New != 1 {
		t.Errorf("summary: %+v", sum)
	}
}

// Of two copies that move at once one joins an older lineage, which the other,
// that nobody decided on, stays out of.
func TestTwoCopiesThatMoveStayTwo(t *testing.T) {
	m := newMemory()
	const a, b, c, d = "x/app/a.py", "x/web/a.py", "y/app/a.py", "y/web/a.py"
	apply(t, m, upload(full(matched(c, 1, "x")), func(u *Upload) { u.Ref = "dev" }))
	apply(t, m, full(matched(a, 1, "x"), matched(b, 1, "x")))
	if len(m.lineages) != 3 || len(m.rows) != 3 {
		t.Fatalf("%d lineages, %d rows", len(m.lineages), len(m.rows))
	}
	sum := apply(t, m, full(matched(c, 1, "x"), matched(d, 1, "x")))
	if sum.Moved != 2 || len(m.lineages) != 2 {
		t.Errorf("%+v, %d lineages", sum, len(m.lineages))
	}
}

func TestNewOccurrenceInherits(t *testing.T) {
	m := newMemory()
	apply(t, m, full(matched("a.py", 1, "x")))
	for _, l := range m.lineages {
		l.Triage.State = redoubt.TriageIgnored
	}
	sum := apply(t, m, upload(full(matched("a.py", 1, "x")), func(u *Upload) { u.Ref = "dev" }))
	f := m.rows[sum.Items[0].FindingID]
	if sum.New != 1 || len(m.lineages) != 1 || m.lineages[f.LineageID].Triage.State != redoubt.TriageIgnored || !f.CreatedAt.Equal(m.clock) {
		t.Errorf("%+v, %d lineages", sum, len(m.lineages))
	}
}

func TestOrder(t *testing.T) {
	clock := newMemory().clock
	at := func(minutes int, commit string, results ...redoubt.Result) Upload {
		return upload(full(results...), func(u *Upload) {
			u.Commit, u.Report.StartedAt = commit, clock.Add(time.Duration(minutes)*time.Minute)
		})
	}
	x, y := matched("a.py", 1, "x"), matched("b.py", 1, "y")
	for name, test := range map[string]struct {
		uploads []Upload
		want    []redoubt.ScanOutcome
	}{
		"late":                          {[]Upload{at(1, "", x), at(0, "", y)}, []redoubt.ScanOutcome{redoubt.ScanApplied, redoubt.ScanLate}},
		"at the same time":              {[]Upload{at(1, "", x), at(1, "", y)}, []redoubt.ScanOutcome{redoubt.ScanApplied, redoubt.ScanApplied}},
		"before a diff scan":            {[]Upload{upload(at(1, "", x), func(u *Upload) { u.Full, u.DeclaredFull = false, false }), at(0, "", y)}, []redoubt.ScanOutcome{redoubt.ScanApplied, redoubt.ScanApplied}},
		"late on another ref":           {[]Upload{at(1, "", x), upload(at(0, "", y), func(u *Upload) { u.Ref = "dev" })}, []redoubt.ScanOutcome{redoubt.ScanApplied, redoubt.ScanApplied}},
		"a re-run of an old commit":     {[]Upload{at(0, "c1", x), at(1, "c2", y), at(2, "c1", x)}, []redoubt.ScanOutcome{redoubt.ScanApplied, redoubt.ScanApplied, redoubt.ScanSuperseded}},
		"a re-run of the newest commit": {[]Upload{at(0, "c1", x), at(1, "c1", y)}, []redoubt.ScanOutcome{redoubt.ScanApplied, redoubt.ScanApplied}},
		"A, B, A of one commit":         {[]Upload{at(1, "c1", x), at(1, "c1", y), at(1, "c1", x)}, []redoubt.ScanOutcome{redoubt.ScanApplied, redoubt.ScanApplied, redoubt.ScanApplied}},
		"A, B, A of no commit":          {[]Upload{full(x), full(y), full(x)}, []redoubt.ScanOutcome{redoubt.ScanApplied, redoubt.ScanApplied, redoubt.ScanApplied}},
		"a clock that is wrong":         {[]Upload{at(600, "", x), at(3, "", y)}, []redoubt.ScanOutcome{redoubt.ScanApplied, redoubt.ScanApplied}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			m.tick(2 * time.Minute) // so that none of the times is in the future
			var got []redoubt.ScanOutcome
			for _, u := range test.uploads {
				rows, events := len(m.rows), len(m.events)
				sum := apply(t, m, u)
				got = append(got, sum.Outcome)
				if sum.Outcome != redoubt.ScanApplied && (len(m.rows) != rows || len(m.events) != events || len(sum.Items) > 0) {
					t.Errorf("a %v scan changed something", sum.Outcome)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("outcomes (-want +got):\n%s", diff)
			}
			if len(m.scans) != len(test.uploads) {
				t.Errorf("%d scans are recorded, want %d", len(m.scans), len(test.uploads))
			}
		})
	}
}
