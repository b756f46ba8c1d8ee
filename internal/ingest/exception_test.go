package ingest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// exemptWorld applies random decisions, scans and time steps to a real store, and tracks the
// expected triage of each finding.
type exemptWorld struct {
	t     *rapid.T
	s     *store.Store
	clock *storetest.Clock
	id    int64
	list  []model.Exception
	found map[string]*exemptFinding // by project, rule and path
	scans int
}

type exemptFinding struct {
	project, rule, path string
	live                map[string]bool // by ref
	state               model.TriageState
	person              bool
	by                  int64 // the exception that ignores it, or 0
}

var (
	exemptProjects = []string{"acme/pay", "acme/shop"}
	exemptRules    = []string{"r1", "r2"}
	exemptPaths    = []string{"src/a.py", "tests/a.py", "tests/deep/b.py"}
)

func (w *exemptWorld) update(fn func(ctx context.Context, tx *store.Tx) error) {
	if err := w.s.Update(w.t.Context(), w.id, storetest.Actor, fn); err != nil {
		w.t.Fatal(err)
	}
}

func exemptKey(project, rule, path string) string { return project + " " + rule + " " + path }

// upload applies a full scan of a ref.
func (w *exemptWorld) upload() {
	project := rapid.SampledFrom(exemptProjects).Draw(w.t, "project")
	ref := rapid.SampledFrom([]string{"main", "dev"}).Draw(w.t, "ref")
	report := &model.Report{Tool: "semgrep"}
	seen := map[string]bool{}
	for _, rule := range exemptRules {
		for _, path := range exemptPaths {
			if !rapid.Bool().Draw(w.t, "found") {
				continue
			}
			key := exemptKey(project, rule, path)
			seen[key] = true
			report.Results = append(report.Results, model.Result{
				Rule: &model.Rule{Name: rule, IssueType: model.SAST}, Path: path, Location: model.Location{Line: 1}, MatchBasedID: key, CodeHash: key,
			})
			if w.found[key] == nil {
				w.found[key] = &exemptFinding{project: project, rule: rule, path: path, live: map[string]bool{}, state: model.TriageUntriaged}
			}
		}
	}
	w.scans++
	w.update(func(ctx context.Context, tx *store.Tx) error {
		_, err := Apply(ctx, tx, exceptions.ForImport{Store: tx}, Upload{
			Project: model.Project{Name: project}, Ref: ref, Commit: fmt.Sprint("c", w.scans), Full: true, DeclaredFull: true, Report: report,
		})
		return err
	})
	for key, f := range w.found {
		if f.project != project {
			continue
		}
		_, was := f.live[ref]
		if back := was && !f.live[ref] && seen[key]; back && (f.state == model.TriageReviewing || f.state == model.TriageFixing) {
			f.state, f.person = model.TriageReopened, false
		}
		if was || seen[key] {
			f.live[ref] = seen[key]
		}
	}
	w.judge()
}

// judge computes the expected state of each finding.
func (w *exemptWorld) judge() {
	for _, f := range w.found {
		var by []int64
		for _, e := range w.list {
			matches := e.Target == f.rule && e.Active(w.clock.Now())
			matches = matches && (len(e.Paths) == 0 || e.Paths[0] == "tests/" && f.path != "src/a.py" || e.Paths[0] == f.path)
			if matches && (len(e.Projects) == 0 || e.Projects[0] == "ACME/*" || e.Projects[0] == f.project) {
				by = append(by, e.ID)
			}
		}
		switch {
		case f.person:
		case f.by != 0 && slices.Contains(by, f.by):
		case len(by) > 0:
			f.state, f.by = model.TriageIgnored, slices.Min(by)
		case f.by != 0:
			f.state, f.by = model.TriageReopened, 0
		}
	}
}

func (w *exemptWorld) except() {
	e := model.Exception{Target: rapid.SampledFrom(exemptRules).Draw(w.t, "target"), Reason: "tested", TriageReason: model.AcceptableRisk}
	if glob := rapid.SampledFrom([]string{"", "tests/", "src/a.py"}).Draw(w.t, "path"); glob != "" {
		e.Paths = model.PathGlobs{glob}
	}
	if glob := rapid.SampledFrom([]string{"", "ACME/*", "acme/shop"}).Draw(w.t, "projects"); glob != "" {
		e.Projects = model.ProjectGlobs{glob}
	}
	if hours := rapid.IntRange(0, 3).Draw(w.t, "hours"); hours > 0 {
		e.Until = w.clock.Now().Add(time.Duration(hours) * time.Hour)
	}
	w.update(func(ctx context.Context, tx *store.Tx) (err error) {
		e, _, err = exceptions.Add(ctx, tx, e)
		return err
	})
	w.list = append(w.list, e)
	w.judge()
}

func (w *exemptWorld) unexcept() {
	if len(w.list) == 0 {
		return
	}
	i := rapid.IntRange(0, len(w.list)-1).Draw(w.t, "which")
	w.update(func(ctx context.Context, tx *store.Tx) error {
		_, _, err := exceptions.Remove(ctx, tx, w.list[i].ID)
		return err
	})
	w.list = slices.Delete(w.list, i, i+1)
	w.judge()
}

// decide triages a finding as a person.
func (w *exemptWorld) decide() {
	key := exemptKey(rapid.SampledFrom(exemptProjects).Draw(w.t, "project"), rapid.SampledFrom(exemptRules).Draw(w.t, "rule"), rapid.SampledFrom(exemptPaths).Draw(w.t, "path"))
	f := w.found[key]
	if f == nil {
		return
	}
	f.state = model.TriageState(rapid.IntRange(2, 5).Draw(w.t, "state"))
	f.person, f.by = true, 0
	w.update(func(ctx context.Context, tx *store.Tx) error {
		l := w.lineage(ctx, tx, f)
		after := model.Triage{State: f.state, At: tx.Now(), By: storetest.Actor}
		return tx.UpdateTriage(ctx, []model.TriageEvent{{LineageID: l.ID, At: tx.Now(), By: storetest.Actor, Before: l.Triage, After: after}})
	})
}

func (w *exemptWorld) lineage(ctx context.Context, tx *store.Tx, f *exemptFinding) model.Lineage {
	p, err := tx.ProjectByName(ctx, f.project)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, ref := range []string{"refs/heads/main", "refs/heads/dev"} {
		rows, err := tx.Findings(ctx, p.ID, ref, "semgrep")
		if err != nil {
			w.t.Fatal(err)
		}
		for _, row := range rows {
			if row.RuleName == f.rule && row.Path == f.path {
				found, err := tx.Lineages(ctx, []int64{row.LineageID})
				if err != nil {
					w.t.Fatal(err)
				}
				return found[row.LineageID]
			}
		}
	}
	w.t.Fatalf("%s %s %s is not stored", f.project, f.rule, f.path)
	return model.Lineage{}
}

// compare checks the store and its history against the expected states.
func (w *exemptWorld) compare(step string) {
	err := w.s.View(w.t.Context(), w.id, func(ctx context.Context, tx *store.Tx) error {
		due, err := exceptions.FindDue(ctx, tx)
		if len(due.Lineages) > 0 && step != "wait" && step != "decide" {
			w.t.Fatalf("after %s %d findings are not as the exceptions say", step, len(due.Lineages))
		}
		for key, f := range w.found {
			got := w.lineage(ctx, tx, f).Triage
			want := model.Triage{State: f.state, Automatic: !f.person && f.state != model.TriageUntriaged}
			is := model.Triage{State: got.State, Automatic: got.Automatic}
			if diff := cmp.Diff(want, is); diff != "" {
				w.t.Fatalf("after %s %s (-want +got):\n%s", step, key, diff)
			}
			if by := got.By; (got.State == model.TriageIgnored && by.Kind == "exception") != (f.by != 0) || f.by != 0 && by.ID != fmt.Sprint(f.by) {
				w.t.Fatalf("after %s %s is ignored by %v, want exception %d", step, key, by, f.by)
			}
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// TestExceptionsMatchModel mixes exceptions, decisions, uploads and time.
func TestExceptionsMatchModel(t *testing.T) {
	storetest.Checks(t, *storeChecks)
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			clock := storetest.NewClock()
			s := storetest.Open(t, storetest.Database(t, engine, clock))
			tenants := 0
			rapid.Check(t, func(t *rapid.T) {
				tenants++
				d, err := s.CreateDeployment(t.Context(), fmt.Sprint("tenant-", tenants), "", storetest.Actor)
				if err != nil {
					t.Fatal(err)
				}
				w := &exemptWorld{t: t, s: s, clock: clock, id: d.ID, found: map[string]*exemptFinding{}}
				steps := map[string]func(){
					"upload": w.upload, "except": w.except, "unexcept": w.unexcept, "decide": w.decide,
					"wait": func() { clock.Advance(time.Hour) },
					"tidy": func() {
						w.update(func(ctx context.Context, tx *store.Tx) error {
							due, err := exceptions.FindDue(ctx, tx)
							if err == nil {
								_, err = exceptions.ApplyDue(ctx, tx, due)
							}
							return err
						})
						w.judge()
					},
				}
				for range rapid.IntRange(1, 12).Draw(t, "steps") {
					clock.Advance(time.Minute)
					step := rapid.SampledFrom([]string{"upload", "upload", "upload", "except", "except", "unexcept", "decide", "wait", "tidy"}).Draw(t, "step")
					steps[step]()
					w.compare(step)
				}
			})
		})
	}
}
