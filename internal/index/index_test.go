package index

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// seed adds a project, a rule and a policy to a world.
func seed(w *world) {
	w.putProject(model.Project{ID: 1, Name: "acme/api", URL: "https://git.example/acme/api"})
	w.putRule(model.Rule{ID: 1, Name: "go.sql.injection", Message: "Do not.", Category: "security", Severity: 3, Confidence: 2})
	w.putPolicy(model.Policy{ID: 1, Name: "Global", Slug: "global", Product: model.SAST})
	w.putPolicyRule(model.PolicyRule{ID: 1, PolicyID: 1, Rule: model.Rule{Name: "go.sql.injection"}, Mode: model.ModeMonitor})
	w.commit()
}

// add adds findings with the given IDs, each with its own lineage, relevant now.
func add(w *world, body string, ids ...int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range ids {
		w.putLineage(model.Lineage{ID: id, ProjectID: 1, Triage: model.Triage{State: model.TriageUntriaged}})
		w.putFinding(model.IndexedFinding{Body: []byte(body), Finding: model.Finding{
			ID: id, IssueType: model.SAST, ProjectID: 1, Ref: "refs/heads/main", LineageID: id, RuleID: 1, State: model.Unresolved,
			Severity: 3, Confidence: 2, CreatedAt: w.now(), RelevantSince: w.now(), FirstScanID: 1,
		}})
	}
	w.commit()
}

const smallBody = `"rule_message":null,"location":{"line":1}`

func span(from, to int64) []int64 {
	var out []int64
	for id := from; id <= to; id++ {
		out = append(out, id)
	}
	return out
}

// ids returns the IDs on one page of all SAST findings.
func ids(tb testing.TB, v *View, page, size int) []int64 {
	tb.Helper()
	var findings []struct{ ID int64 }
	if err := json.Unmarshal(written(tb, v, model.FindingFilter{IssueType: model.SAST}, page, size), &findings); err != nil {
		tb.Fatal(err)
	}
	var out []int64
	for _, f := range findings {
		out = append(out, f.ID)
	}
	return out
}

func TestRebuildRemovesDeadOrdinals(t *testing.T) {
	w := newWorld()
	seed(w)
	add(w, smallBody, span(1, 400)...)
	x := New(w, Options{BodyCache: 1 << 20})
	view(t, x)
	for id := int64(1); id <= 60; id++ {
		f := w.findings[id]
		f.RelevantSince = w.now()
		w.putFinding(f)
	}
	w.commit()
	view(t, x)
	if s := x.Stats(); s.Rebuilds != 0 {
		t.Errorf("%d rebuilds for 60 dead of 460 ordinals, want none", s.Rebuilds)
	}
	for id := int64(61); id <= 120; id++ {
		w.deleteFinding(id)
	}
	w.commit()
	v := view(t, x)
	if s := x.Stats(); s.Rebuilds != 1 || s.Findings != 340 {
		t.Errorf("%d rebuilds and %d findings after 120 dead of 460 ordinals, want 1 and 340", s.Rebuilds, s.Findings)
	}
	got := ids(t, v, 0, 1000)
	want := append(slices.Concat(span(121, 400)), span(1, 60)...)
	slices.Reverse(want)
	if !slices.Equal(got, want) {
		t.Errorf("list = %v, want %v", got, want)
	}
}

func TestRebuildSortsBackdatedRow(t *testing.T) {
	w := newWorld()
	seed(w)
	add(w, smallBody, 1)
	add(w, smallBody, 2, 3)
	early := w.findings[3].RelevantSince.Add(-time.Microsecond)
	x := New(w, Options{})
	view(t, x)
	add(w, smallBody, 4)
	view(t, x)
	if s := x.Stats(); s.Rebuilds != 0 {
		t.Fatalf("%d rebuilds for a row at the end, want none", s.Rebuilds)
	}
	f := w.findings[4]
	f.ID, f.RelevantSince = 5, early
	w.putFinding(f)
	w.commit()
	if got, want := ids(t, view(t, x), 0, 100), []int64{4, 3, 2, 5, 1}; !slices.Equal(got, want) {
		t.Errorf("list = %v, want %v", got, want)
	}
	if s := x.Stats(); s.Rebuilds != 1 {
		t.Errorf("%d rebuilds, want 1", s.Rebuilds)
	}
}

func TestStaleFeedIsReloaded(t *testing.T) {
	w := newWorld()
	seed(w)
	x := New(w, Options{})
	view(t, x)
	add(w, smallBody, 1)
	add(w, smallBody, 2)
	w.pruned = w.version
	if got := ids(t, view(t, x), 0, 100); !slices.Equal(got, []int64{2, 1}) {
		t.Errorf("list = %v, want 2 and 1", got)
	}
	if s := x.Stats(); s.Loads != 2 {
		t.Errorf("%d loads, want 2", s.Loads)
	}
}

func TestConcurrentRequestsShareOneLoad(t *testing.T) {
	w := newWorld()
	seed(w)
	add(w, smallBody, span(1, 50)...)
	x := New(w, Options{})
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if v, err := x.Deployment(context.Background(), tenant); err != nil || v.Count(model.FindingFilter{IssueType: model.SAST}) != 50 {
				t.Errorf("view = %v, %v", v, err)
			}
		})
	}
	group.Wait()
	if w.feeds != 1 {
		t.Errorf("the feed was read %d times, want once", w.feeds)
	}
}

// broken is a source whose feed fails after some batches.
type broken struct {
	*world
	after int
}

const working = 1 << 30 // number of batches that never fails

var errBroken = errors.New("disk on fire")

func (s *broken) Feed(ctx context.Context, deployment, since int64, handle func(*model.Batch) error) (int64, bool, error) {
	return s.world.Feed(ctx, deployment, since, func(b *model.Batch) error {
		s.after--
		if s.after < 0 {
			return errBroken
		}
		return handle(b)
	})
}

func TestFailedFeedIsRetried(t *testing.T) {
	s := &broken{world: newWorld(), after: 2}
	seed(s.world)
	add(s.world, smallBody, span(1, 10)...)
	x := New(s, Options{BodyCache: 1 << 20})
	if _, err := x.Deployment(t.Context(), tenant); !errors.Is(err, errBroken) {
		t.Fatalf("error = %v, want the feed's", err)
	}
	if n := x.Stats().BodyBytes; n != 0 {
		t.Errorf("%d bytes of bodies are left of a load that failed", n)
	}
	s.after = working
	view(t, x)
	add(s.world, smallBody, span(11, 20)...)
	s.after = 3
	if _, err := x.Deployment(t.Context(), tenant); !errors.Is(err, errBroken) {
		t.Fatalf("error = %v, want the feed's", err)
	}
	s.after = working
	want := span(1, 20)
	slices.Reverse(want)
	if got := ids(t, view(t, x), 0, 100); !slices.Equal(got, want) {
		t.Errorf("list = %v, want %v", got, want)
	}
}

// TestLateRowsCanBeDeleted checks that rows that remain late after a failed feed can be deleted by
// the next feed.
func TestLateRowsCanBeDeleted(t *testing.T) {
	for _, entireProject := range []bool{false, true} {
		s := &broken{world: newWorld(), after: working}
		seed(s.world)
		s.putProject(model.Project{ID: 2, Name: "acme/web"})
		add(s.world, smallBody, 1, 2)
		x := New(s, Options{})
		view(t, x)
		f := s.findings[1]
		f.ID, f.ProjectID, f.RelevantSince = 3, 2, f.RelevantSince.Add(-time.Hour)
		s.putFinding(f)
		s.commit()
		s.after = 2
		if _, err := x.Deployment(t.Context(), tenant); !errors.Is(err, errBroken) || len(x.deployments[tenant].state.part(model.SAST).late.rows) != 1 {
			t.Fatalf("error = %v, want the feed's, and a late row", err)
		}
		s.after = working
		s.deleteFinding(3)
		if entireProject {
			s.log = s.log[:len(s.log)-2] // a feed that contains only the project
			s.deleteProject(2)
		}
		s.commit()
		if got := ids(t, view(t, x), 0, 100); !slices.Equal(got, []int64{2, 1}) {
			t.Errorf("list = %v, want 2 and 1", got)
		}
	}
}

// TestLateRowsReceiveLineageChanges checks that late rows receive changes of their lineage.
func TestLateRowsReceiveLineageChanges(t *testing.T) {
	s := &broken{world: newWorld(), after: working}
	seed(s.world)
	add(s.world, smallBody, 1, 2)
	x := New(s, Options{})
	view(t, x)
	f := s.findings[1]
	f.RelevantSince = f.RelevantSince.Add(-time.Hour)
	s.putFinding(f)
	s.commit()
	s.after = 2
	if _, err := x.Deployment(t.Context(), tenant); !errors.Is(err, errBroken) {
		t.Fatalf("error = %v, want the feed's", err)
	}
	s.after, s.pruned = working, 0
	s.log = s.log[:len(s.log)-1] // the next feed omits the late row
	s.putLineage(model.Lineage{ID: 1, ProjectID: 1, Triage: model.Triage{State: model.TriageFixing}})
	s.commit()
	fixing := model.FindingFilter{IssueType: model.SAST, Statuses: []model.Status{model.StatusFixing}}
	if n := view(t, x).Count(fixing); n != 1 {
		t.Errorf("%d findings are being fixed, want 1", n)
	}
}

func TestUnknownDeploymentIsNotCached(t *testing.T) {
	x := New(newWorld(), Options{})
	if _, err := x.Deployment(t.Context(), 404); !errors.Is(err, model.ErrNotFound) {
		t.Errorf("error = %v, want not found", err)
	}
	if n := x.Stats().Deployments; n != 0 {
		t.Errorf("%d deployments are kept", n)
	}
}

func TestFindingBeforeRuleIsRejected(t *testing.T) {
	w := newWorld()
	seed(w)
	add(w, smallBody, 1)
	w.rules = nil
	_, err := New(w, Options{}).Deployment(t.Context(), tenant)
	if err == nil || !strings.Contains(err.Error(), "finding 1 comes before") {
		t.Errorf("error = %v", err)
	}
	for _, bad := range []model.Finding{{ID: 1 << 32, IssueType: 1}, {ID: 0, IssueType: 1}, {ID: 1}, {ID: 1, IssueType: 4}} {
		w.findings = map[int64]model.IndexedFinding{1: {Finding: bad}}
		if _, err := New(w, Options{}).Deployment(t.Context(), tenant); err == nil {
			t.Errorf("finding %d of issue type %d is taken", bad.ID, bad.IssueType)
		}
	}
}

func TestLoadWaitStopsOnCancel(t *testing.T) {
	w := newWorld()
	seed(w)
	x := New(w, Options{})
	x.deployment(tenant).semaphore <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.Deployment(ctx, tenant); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want canceled", err)
	}
}

func TestDropReleasesMemory(t *testing.T) {
	w := newWorld()
	seed(w)
	add(w, smallBody, span(1, 50)...)
	x := New(w, Options{BodyCache: 1 << 20})
	v := view(t, x)
	if s := x.Stats(); s.Deployments != 1 || s.Partitions != 1 || s.Findings != 50 || s.BodyBytes == 0 || s.Bytes <= s.BodyBytes {
		t.Errorf("stats = %+v", s)
	}
	x.Drop(tenant)
	x.Drop(tenant)
	if s := x.Stats(); s != (Stats{Loads: 1}) {
		t.Errorf("stats after drop = %+v, want nothing", s)
	}
	if n := v.Count(model.FindingFilter{IssueType: model.SAST}); n != 0 {
		t.Errorf("a view of a dropped deployment counts %d", n)
	}
	if got := ids(t, view(t, x), 0, 3); !slices.Equal(got, []int64{50, 49, 48}) {
		t.Errorf("asked for again, list = %v", got)
	}
}

// TestPaginationDuringInserts checks that reading page by page returns each
// finding that existed at the start. Findings may be repeated (docs/reference/finding-queries.md).
func TestPaginationDuringInserts(t *testing.T) {
	w := newWorld()
	seed(w)
	add(w, smallBody, span(1, 100)...)
	x := New(w, Options{BodyCache: 1 << 20})
	seen := map[int64]bool{}
	next := int64(101)
	for page := 0; ; page++ {
		got := ids(t, view(t, x), page, 10)
		for _, id := range got {
			seen[id] = true
		}
		if len(got) < 10 {
			break
		}
		add(w, smallBody, span(next, next+int64(page%4))...)
		next += int64(page%4) + 1
	}
	for id := int64(1); id <= 100; id++ {
		if !seen[id] {
			t.Errorf("finding %d was lost", id)
		}
	}
}

func TestPagesOutsideTheListAreEmpty(t *testing.T) {
	w := newWorld()
	seed(w)
	add(w, smallBody, 1, 2)
	v := view(t, New(w, Options{}))
	for _, c := range []struct {
		issueType  model.IssueType
		page, size int
	}{{1, 1, 2}, {1, 1 << 62, 2}, {1, -1, 2}, {1, 0, 0}, {2, 0, 2}, {0, 0, 2}, {9, 0, 2}} {
		f := model.FindingFilter{IssueType: c.issueType}
		if got := written(t, v, f, c.page, c.size); string(got) != "[]" {
			t.Errorf("page %d of size %d, issue type %d = %s, want []", c.page, c.size, c.issueType, got)
		}
	}
}

// TestConcurrentReadsAndChanges runs readers, writers and rebuilds concurrently for the race
// detector.
func TestConcurrentReadsAndChanges(t *testing.T) {
	w := newWorld()
	seed(w)
	add(w, smallBody, span(1, 300)...)
	x := New(w, Options{BodyCache: 40 << 10})
	view(t, x)
	var group sync.WaitGroup
	group.Go(func() {
		for i := range 60 {
			churn(w, int64(i))
			view(t, x)
		}
	})
	for range 3 {
		group.Go(func() {
			for i := range 60 {
				v := view(t, x)
				if got := ids(t, v, 0, 100); len(got) != 100 || !slices.Contains(got, got[0]) {
					t.Errorf("page holds %d findings, want 100", len(got))
				}
				f := model.FindingFilter{IssueType: model.SAST, Severities: []model.Severity{3, 4}, Dedup: i%2 == 0}
				if v.Count(f) < 300 {
					t.Errorf("fewer than 300 findings")
				}
				x.Stats()
			}
		})
	}
	group.Wait()
}

// churn adds, moves, triages and back-dates findings in one commit.
func churn(w *world, i int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id := 1 + i*3; id < 4+i*3; id++ {
		f := w.findings[id]
		f.RelevantSince, f.Body = w.now(), fmt.Appendf(nil, `"rule_message":"%d"`, i)
		w.putFinding(f)
		w.putLineage(model.Lineage{ID: f.LineageID, ProjectID: 1, Triage: model.Triage{State: model.TriageFixing, Comment: "x", At: w.now()}})
	}
	if i%10 == 0 {
		f := w.findings[1]
		f.ID, f.RelevantSince = 1000+i, f.RelevantSince.Add(-time.Hour)
		w.putFinding(f)
	}
	w.commit()
}

// TestLateRowAfterProjectDeletion moves findings to another project, deletes the former project
// and back-dates one of the findings. Until that late row is sorted in, lists show the old row with
// the deleted project.
func TestLateRowAfterProjectDeletion(t *testing.T) {
	w := newWorld()
	seed(w)
	add(w, smallBody, 1, 2, 3)
	for id, ref := range map[int64]string{2: "refs/heads/dev", 3: "refs/heads/next"} {
		f := w.findings[id]
		f.LineageID, f.Ref = 1, ref
		w.putFinding(f)
	}
	w.commit()
	x := New(w, Options{BodyCache: 1 << 20})
	view(t, x)

	w.putProject(model.Project{ID: 2, Name: "acme/web"})
	for _, id := range []int64{1, 2} {
		w.putLineage(model.Lineage{ID: id, ProjectID: 2, Triage: model.Triage{State: model.TriageUntriaged}})
		f := w.findings[id]
		f.ProjectID, f.LineageID = 2, 1
		f.RelevantSince = f.RelevantSince.Add(-time.Duration(2-id) * time.Hour) // the first one is back-dated
		w.putFinding(f)
	}
	w.deleteLineage(2)
	w.deleteProject(1)
	w.commit()

	v := view(t, x)
	if got := ids(t, v, 0, 10); !slices.Equal(got, []int64{2, 1}) {
		t.Errorf("after the merge the list holds %v, want [2 1]", got)
	}
	if got := v.Count(model.FindingFilter{IssueType: model.SAST, Projects: []string{"acme/web"}}); got != 2 {
		t.Errorf("%d findings are in the project that stays, want 2", got)
	}
}

// TestLostCommitsDisappear checks that lost commits disappear from results after a restore or
// failover of the store, and that later commits appear.
func TestLostCommitsDisappear(t *testing.T) {
	w := newWorld()
	seed(w)
	add(w, smallBody, 1, 2)
	x := New(w, Options{BodyCache: 1 << 20})
	restored := w.version
	add(w, smallBody, 3)
	add(w, smallBody, 4)
	if got := ids(t, view(t, x), 0, 10); len(got) != 4 {
		t.Fatalf("findings %v", got)
	}
	delete(w.findings, 3)
	delete(w.findings, 4)
	w.log = slices.DeleteFunc(w.log, func(c changed) bool { return c.version > restored })
	w.version = restored
	if got := ids(t, view(t, x), 0, 10); !slices.Equal(got, []int64{2, 1}) {
		t.Errorf("after the restore there are %v", got)
	}
	add(w, smallBody, 5)
	if got := ids(t, view(t, x), 0, 10); !slices.Equal(got, []int64{5, 2, 1}) {
		t.Errorf("after the next commit there are %v", got)
	}
	if feeds := w.feeds; len(ids(t, view(t, x), 0, 10)) != 3 || w.feeds != feeds {
		t.Error("a reader of what is there read a feed")
	}
}
