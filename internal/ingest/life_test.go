package ingest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
)

// matched returns a result with the scanner's identity and hashes, as semgrep ci sends it.
func matched(path string, line int, code string) model.Result {
	r := result(eqeq, path, line, "")
	r.MatchBasedID = "eqeq " + path + " " + code
	r.CodeHash, r.PatternHash = code, "pattern of "+code
	return r
}

// upload returns a changed copy of an upload.
func upload(u Upload, change func(*Upload)) Upload {
	report := *u.Report
	u.Report = &report
	change(&u)
	return u
}

// states returns the findings by path as "state triage", without hidden ones.
func states(m *memory) map[string]string {
	out := map[string]string{}
	for _, f := range m.rows {
		out[f.Path] = f.State.String()
		if t := m.lineages[f.LineageID].Triage.State; t != model.TriageUntriaged {
			out[f.Path] += " " + t.String()
		}
	}
	return out
}

func TestClosing(t *testing.T) {
	a, b := matched("a.py", 1, "x"), matched("b.py", 1, "y")
	refused := func(rule string) model.Result { // in b.py; refused because it has no package
		return model.Result{Rule: &model.Rule{Name: rule, IssueType: model.SCA}, Path: "b.py", Dependency: &model.Vulnerable{}}
	}
	declareCoverage := func(u *Upload) {
		u.DeclaredFull, u.Report.RulesRun, u.Report.Searched = false, []string{"eqeq"}, []string{"a.py", "b.py"}
	}
	for name, test := range map[string]struct {
		change func(u *Upload) // applied to a full scan that sees a.py only
		want   string          // state of the finding in b.py
	}{
		"searched, and the rule ran": {declareCoverage, "fixed"},
		"gone, and the rule ran":     {func(u *Upload) { declareCoverage(u); u.Report.Searched = []string{"a.py"} }, "fixed"},
		"skipped": {func(u *Upload) {
			declareCoverage(u)
			u.Report.Searched, u.Report.Skipped = []string{"a.py"}, []string{"b.py"}
		}, "unresolved"},
		"searched, and skipped for an error":      {func(u *Upload) { declareCoverage(u); u.Report.Skipped = []string{"b.py"} }, "unresolved"},
		"a manifest that was not resolved":        {func(u *Upload) { declareCoverage(u); u.Report.Unresolved = []string{"b.py"} }, "fixed"},
		"the rule did not run":                    {func(u *Upload) { declareCoverage(u); u.Report.Results, u.Report.RulesRun = nil, []string{"other"} }, "unresolved"},
		"no rule ran":                             {func(u *Upload) { declareCoverage(u); u.Report.Results, u.Report.RulesRun = nil, []string{} }, "unresolved"},
		"reported, and refused":                   {func(u *Upload) { u.Report.Results = append(u.Report.Results, refused("eqeq")) }, "unresolved"},
		"refused of another rule":                 {func(u *Upload) { u.Report.Results = append(u.Report.Results, refused("other")) }, "fixed"},
		"rules not told":                          {func(u *Upload) { declareCoverage(u); u.Report.RulesRun = nil }, "fixed"},
		"paths not told":                          {func(u *Upload) { declareCoverage(u); u.Report.Searched = nil }, "unresolved"},
		"neither told, declared full":             {func(*Upload) {}, "fixed"},
		"rules not told, declared full":           {func(u *Upload) { declareCoverage(u); u.DeclaredFull, u.Report.RulesRun = true, nil }, "fixed"},
		"declared full, and skipped":              {func(u *Upload) { u.Report.Skipped = []string{"b.py"} }, "unresolved"},
		"declared full, and the rule did not run": {func(u *Upload) { u.Report.RulesRun = []string{}; u.Report.Results = nil }, "unresolved"},
		"a failed run":                            {func(u *Upload) { u.Report.Failed = true }, "unresolved"},
		"a diff scan":                             {func(u *Upload) { declareCoverage(u); u.Full = false }, "unresolved"},
		"another source":                          {func(u *Upload) { u.Report.Tool = "bandit" }, "unresolved"},
		"another category":                        {func(u *Upload) { u.Category = "ios" }, "unresolved"},
		"another ref":                             {func(u *Upload) { u.Ref = "dev" }, "unresolved"},
		"another edition of the same tool":        {func(u *Upload) { u.Report.Tool = "Opengrep OSS" }, "fixed"},
		"the rule left the policy":                {func(u *Upload) { u.OutOfPolicy = func(rule, _ string) bool { return rule == "eqeq" } }, "removed"},
		"the path left the policy, and did not run": {func(u *Upload) {
			declareCoverage(u)
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

// TestUnresolvedManifest checks that findings about dependencies of an unresolved manifest
// remain open, and its code findings close.
func TestUnresolvedManifest(t *testing.T) {
	vulnerable := func(path string) model.Result {
		return model.Result{
			Rule: &model.Rule{Name: "old-lodash", IssueType: model.SCA}, Path: path, Location: model.Location{Line: 3}, Message: "m",
			Dependency: &model.Vulnerable{Ecosystem: "npm", Package: "lodash", Version: "4.0.0", Lockfile: path},
		}
	}
	m := newMemory()
	apply(t, m, full(matched("package-lock.json", 1, "x"), vulnerable("package-lock.json"), vulnerable("web/yarn.lock")))
	second := upload(full(), func(u *Upload) {
		u.DeclaredFull = false
		u.Report.RulesRun, u.Report.Searched = []string{"eqeq", "old-lodash"}, []string{"package-lock.json", "web/yarn.lock"}
		u.Report.Unresolved = []string{"package-lock.json"}
	})
	apply(t, m, second)
	got := map[string]string{}
	for _, f := range m.rows {
		got[f.RuleName+" "+f.Path] = f.State.String()
	}
	want := map[string]string{"eqeq package-lock.json": "fixed", "old-lodash package-lock.json": "unresolved", "old-lodash web/yarn.lock": "fixed"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
}

func TestDiffScanClosesOwnFindings(t *testing.T) {
	diff := func(results ...model.Result) Upload {
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

func TestReturningFindings(t *testing.T) {
	for name, test := range map[string]struct {
		triage model.TriageState
		muted  bool
		want   string
	}{
		"untriaged": {model.TriageUntriaged, false, "unresolved"},
		"ignored":   {model.TriageIgnored, false, "unresolved ignored"},
		"reviewing": {model.TriageReviewing, false, "unresolved reopened"},
		"fixing":    {model.TriageFixing, false, "unresolved reopened"},
		"reopened":  {model.TriageReopened, false, "unresolved reopened"},
		"muted":     {model.TriageFixing, true, "muted fixing"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			first := apply(t, m, full(matched("a.py", 1, "x")))
			row := m.rows[first.Items[0].FindingID]
			before := model.Triage{State: test.triage, Comment: "c", By: model.Actor{Kind: "token"}}
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
			var trail []model.TriageEvent
			if after := m.lineages[row.LineageID].Triage; after.State != test.triage {
				by := model.Actor{Kind: "scan", ID: fmt.Sprint(sum.ScanID), Name: "semgrep"}
				want := model.Triage{State: model.TriageReopened, Comment: "c", At: m.clock, By: by, Automatic: true}
				trail = []model.TriageEvent{{LineageID: row.LineageID, At: m.clock, By: by, Before: before, After: want}}
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
		result model.Result
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
	plain := func(path string, line int, code string) model.Result { return result(eqeq, path, line, code) }
	retold := matched("app/a.py", 9, "x")
	retold.MatchBasedID, retold.PatternHash = "eqeq with another text", "another pattern"
	elsewhere := retold
	elsewhere.Path = "lib/app/a.py"
	for name, test := range map[string]struct {
		before, after []model.Result
		change        func(*Upload)
		moved         int
	}{
		"a file":                    {before: []model.Result{matched("app/a.py", 1, "x")}, after: []model.Result{matched("lib/app/a.py", 4, "x")}, moved: 1},
		"a file, without hashes":    {before: []model.Result{plain("app/a.py", 1, "x  == x")}, after: []model.Result{plain("lib/app/a.py", 4, "x == x")}, moved: 1},
		"a file, nothing told":      {before: []model.Result{plain("app/a.py", 1, "")}, after: []model.Result{plain("lib/app/a.py", 4, "")}, moved: 1},
		"other code":                {before: []model.Result{matched("app/a.py", 1, "x")}, after: []model.Result{matched("lib/app/a.py", 4, "y")}},
		"one became two":            {before: []model.Result{matched("app/a.py", 1, "x")}, after: []model.Result{matched("lib/app/a.py", 4, "x"), matched("src/app/a.py", 4, "x")}},
		"two became one":            {before: []model.Result{matched("app/a.py", 1, "x"), matched("lib/app/a.py", 1, "x")}, after: []model.Result{matched("src/app/a.py", 4, "x")}},
		"two, by name":              {before: []model.Result{matched("app/a.py", 1, "x"), matched("app/n.py", 1, "x")}, after: []model.Result{matched("lib/app/n.py", 4, "x"), matched("lib/app/a.py", 4, "x")}, moved: 2},
		"another name":              {before: []model.Result{matched("app/a.py", 1, "x")}, after: []model.Result{matched("lib/app/n.py", 4, "x")}},
		"another folder":            {before: []model.Result{matched("app/a.py", 1, "x")}, after: []model.Result{matched("lib/a.py", 4, "x")}},
		"the file is still there":   {before: []model.Result{matched("app/a.py", 1, "x")}, after: []model.Result{matched("lib/app/a.py", 4, "x")}, change: func(u *Upload) { u.Report.Searched = []string{"app/a.py", "lib/app/a.py"} }},
		"the file was skipped":      {before: []model.Result{matched("app/a.py", 1, "x")}, after: []model.Result{matched("lib/app/a.py", 4, "x")}, change: func(u *Upload) { u.Report.Skipped = []string{"app/a.py"} }},
		"a failed run":              {before: []model.Result{matched("app/a.py", 1, "x")}, after: []model.Result{matched("lib/app/a.py", 4, "x")}, change: func(u *Upload) { u.Report.Failed = true }},
		"a diff scan":               {before: []model.Result{matched("app/a.py", 1, "x")}, after: []model.Result{matched("lib/app/a.py", 4, "x")}, change: func(u *Upload) { u.Full, u.DeclaredFull = false, false }},
		"a rule's text":             {before: []model.Result{matched("app/a.py", 1, "x")}, after: []model.Result{retold}, moved: 1},
		"a rule's text and a file":  {before: []model.Result{matched("app/a.py", 1, "x")}, after: []model.Result{elsewhere}, moved: 1},
		"the same, only lines down": {before: []model.Result{matched("app/a.py", 1, "x")}, after: []model.Result{matched("app/a.py", 5, "x")}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			first := apply(t, m, full(test.before...))
			for _, l := range m.lineages {
				l.Triage.State = model.TriageFixing
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
				if !now.CreatedAt.Equal(start) || !now.RelevantSince.Equal(start) || m.lineages[now.LineageID].Triage.State != model.TriageFixing {
					t.Errorf("dates or triage are not kept: %+v", now.Finding)
				}
				want := model.FindingEvent{FindingID: item.FindingID, ScanID: sum.ScanID, Kind: model.EventMoved}
				want.Detail = fmt.Sprintf(`{"from":%q,"from_line":%d,"to":%q,"to_line":%d}`, item.Path, item.Line, now.Path, now.Line)
				if diff := cmp.Diff(want, m.events[i]); diff != "" {
					t.Errorf("event (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// TestLineagesMerge moves a file on one ref that was first seen at its new path on another. The two
// lineages must be merged.
func TestLineagesMerge(t *testing.T) {
	person, worker := model.Actor{Kind: "token"}, model.Actor{Kind: "system"}
	none := model.Triage{State: model.TriageUntriaged}
	human := model.Triage{State: model.TriageIgnored, By: person}
	later := model.Triage{State: model.TriageFixing, By: person}
	auto := model.Triage{State: model.TriageReviewing, By: worker, Automatic: true}
	for name, test := range map[string]struct{ older, younger, want model.Triage }{
		"no decision":                 {none, none, none},
		"the younger was decided":     {none, human, human},
		"the older was decided":       {human, none, human},
		"a person beats a worker":     {auto, human, human},
		"also the other way round":    {human, auto, human},
		"a worker alone":              {none, auto, auto},
		"of two persons the older is": {human, later, human},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			older := m.rows[apply(t, m, full(matched("app/a.py", 1, "x"))).Items[0].FindingID]
			younger := m.rows[apply(t, m, upload(full(matched("lib/app/a.py", 1, "x")), func(u *Upload) { u.Ref = "dev" })).Items[0].FindingID]
			m.lineages[older.LineageID].Triage, m.lineages[younger.LineageID].Triage = test.older, test.younger
			m.lineages[younger.LineageID].Annotations.EPSS = &model.EPSS{Score: 0.5}
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

// TestDiffScanDoesNotMoveFindings checks that diff scans do not move findings, because the finding at the
// old path may have been fixed.
func TestDiffScanDoesNotMoveFindings(t *testing.T) {
	diff := func(results ...model.Result) Upload {
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

// TestMovedCopiesStaySeparate moves two copies at once. One joins an older lineage; the other,
// which is undecided, must not.
func TestMovedCopiesStaySeparate(t *testing.T) {
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

func TestNewOccurrenceInheritsTriage(t *testing.T) {
	m := newMemory()
	apply(t, m, full(matched("a.py", 1, "x")))
	for _, l := range m.lineages {
		l.Triage.State = model.TriageIgnored
	}
	sum := apply(t, m, upload(full(matched("a.py", 1, "x")), func(u *Upload) { u.Ref = "dev" }))
	f := m.rows[sum.Items[0].FindingID]
	if sum.New != 1 || len(m.lineages) != 1 || m.lineages[f.LineageID].Triage.State != model.TriageIgnored || !f.CreatedAt.Equal(m.clock) {
		t.Errorf("%+v, %d lineages", sum, len(m.lineages))
	}
}

func TestUploadOrder(t *testing.T) {
	clock := newMemory().clock
	at := func(minutes int, commit string, results ...model.Result) Upload {
		return upload(full(results...), func(u *Upload) {
			u.Commit, u.Report.StartedAt = commit, clock.Add(time.Duration(minutes)*time.Minute)
		})
	}
	x, y := matched("a.py", 1, "x"), matched("b.py", 1, "y")
	for name, test := range map[string]struct {
		uploads []Upload
		want    []model.ScanOutcome
	}{
		"late":                          {[]Upload{at(1, "", x), at(0, "", y)}, []model.ScanOutcome{model.ScanApplied, model.ScanLate}},
		"at the same time":              {[]Upload{at(1, "", x), at(1, "", y)}, []model.ScanOutcome{model.ScanApplied, model.ScanApplied}},
		"before a diff scan":            {[]Upload{upload(at(1, "", x), func(u *Upload) { u.Full, u.DeclaredFull = false, false }), at(0, "", y)}, []model.ScanOutcome{model.ScanApplied, model.ScanApplied}},
		"late on another ref":           {[]Upload{at(1, "", x), upload(at(0, "", y), func(u *Upload) { u.Ref = "dev" })}, []model.ScanOutcome{model.ScanApplied, model.ScanApplied}},
		"a re-run of an old commit":     {[]Upload{at(0, "c1", x), at(1, "c2", y), at(2, "c1", x)}, []model.ScanOutcome{model.ScanApplied, model.ScanApplied, model.ScanSuperseded}},
		"a re-run of the newest commit": {[]Upload{at(0, "c1", x), at(1, "c1", y)}, []model.ScanOutcome{model.ScanApplied, model.ScanApplied}},
		"A, B, A of one commit":         {[]Upload{at(1, "c1", x), at(1, "c1", y), at(1, "c1", x)}, []model.ScanOutcome{model.ScanApplied, model.ScanApplied, model.ScanApplied}},
		"A, B, A of no commit":          {[]Upload{full(x), full(y), full(x)}, []model.ScanOutcome{model.ScanApplied, model.ScanApplied, model.ScanApplied}},
		"a clock that is wrong":         {[]Upload{at(600, "", x), at(3, "", y)}, []model.ScanOutcome{model.ScanApplied, model.ScanApplied}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			m.tick(2 * time.Minute) // so that no time is in the future
			var got []model.ScanOutcome
			for _, u := range test.uploads {
				rows, events := len(m.rows), len(m.events)
				sum := apply(t, m, u)
				got = append(got, sum.Outcome)
				if sum.Outcome != model.ScanApplied && (len(m.rows) != rows || len(m.events) != events || len(sum.Items) > 0) {
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
