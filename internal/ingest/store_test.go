package ingest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

var storeChecks = flag.Int("store.checks", 25, "random histories for each engine on real stores")

// TestHistoriesOnRealStores checks the properties of [truth] and the lists of the index on real
// stores. It does so after every upload, decision and deletion of a ref.
func TestHistoriesOnRealStores(t *testing.T) {
	storetest.Checks(t, *storeChecks)
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			clock := storetest.NewClock()
			s := storetest.Open(t, storetest.Database(t, engine, clock))
			x := index.New(s, index.Options{BodyCache: 1 << 20})
			tenants := 0
			rapid.Check(t, func(t *rapid.T) {
				tenants++
				d, err := s.CreateDeployment(t.Context(), fmt.Sprint("tenant-", tenants), "", storetest.Actor)
				if err != nil {
					t.Fatal(err)
				}
				defer x.Drop(d.ID)
				coded := rapid.Bool().Draw(t, "coded")
				r := &realm{truth: newTruth(t, coded), history: newHistory(coded), real: s, index: x, tenant: d.ID}
				r.send, r.tick, r.store.links = r.apply, func() { clock.Advance(time.Minute) }, nil
				r.people()
				for range rapid.IntRange(1, 12).Draw(t, "steps") {
					clock.Advance(time.Minute)
					r.step(clock.Now())
				}
				r.rebuild()
			})
		})
	}
}

// realm is a tenant of a real store.
type realm struct {
	*truth
	history *history
	real    *store.Store
	now     time.Time
	index   *index.Index
	tenant  int64
	project model.Project // as stored
	primary string        // explicitly set; empty follows the default branch
	branch  string        // the first one fully scanned
}

// update runs a transaction and reads the stored state afterwards.
func (r *realm) update(fn func(ctx context.Context, tx *store.Tx) error) error {
	err := r.real.Update(r.t.Context(), r.tenant, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		r.store.clock = tx.Now()
		return fn(ctx, tx)
	})
	r.read()
	return err
}

func (r *realm) apply(u Upload) (sum Summary, err error) {
	err = r.update(func(ctx context.Context, tx *store.Tx) error {
		sum, err = Apply(ctx, tx, exceptions.ForImport{Store: tx}, u)
		return err
	})
	if r.branch == "" && sum.Outcome == model.ScanApplied && u.Full && !u.Report.Failed {
		r.branch = "refs/heads/" + u.Ref
	}
	return sum, err
}

// read copies the stored rows, lineages and histories.
func (r *realm) read() {
	m := r.store
	clear(m.rows)
	clear(m.lineages)
	var one sync.Mutex // batches may arrive concurrently
	version, _, err := r.real.Feed(r.t.Context(), r.tenant, 0, func(b *model.Batch) error {
		one.Lock()
		defer one.Unlock()
		for _, p := range b.Projects {
			r.project = p
		}
		for _, l := range b.Lineages {
			m.lineages[l.ID] = &l
		}
		for _, f := range b.Findings {
			m.rows[f.ID] = &model.FindingWrite{Finding: f.Finding, Body: f.Body}
		}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	err = r.real.View(r.t.Context(), r.tenant, func(ctx context.Context, tx *store.Tx) error {
		audit, err := tx.AuditEvents(ctx, 0, 1000)
		if err != nil {
			return err
		}
		m.writes = int(version) + len(audit)
		return errors.Join(r.readDetails(ctx, tx), r.readEvents(ctx, tx))
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

// readDetails reads the details that the feed omits.
func (r *realm) readDetails(ctx context.Context, tx *store.Tx) error {
	findings, err := tx.FindingsByID(ctx, slices.Collect(maps.Keys(r.store.rows)))
	if err != nil {
		return err
	}
	for _, f := range findings {
		r.store.rows[f.ID].Finding = f
	}
	lineages, err := tx.Lineages(ctx, slices.Collect(maps.Keys(r.store.lineages)))
	for id, l := range lineages {
		r.store.lineages[id] = &l
	}
	return err
}

func (r *realm) readEvents(ctx context.Context, tx *store.Tx) error {
	var all []store.FindingHistory
	for id := range r.store.rows {
		lines, err := tx.History(ctx, id)
		if err != nil {
			return err
		}
		all = append(all, lines...)
	}
	slices.SortFunc(all, func(a, b store.FindingHistory) int { return int(a.ID - b.ID) })
	r.store.events = nil
	for _, line := range all {
		r.store.events = append(r.store.events, line.FindingEvent)
	}
	return nil
}

// step performs one action and compares the lists with the stored state.
func (r *realm) step(now time.Time) {
	r.now = now
	switch people := rapid.IntRange(0, 20).Draw(r.t, "people"); {
	case people <= 3:
		r.triage()
	case people == 4:
		r.deleteRef()
	case people == 20:
		r.tidy()
	case people <= 6:
		r.choosePrimary()
	default:
		if u, sent := r.history.step(r.t, now); sent {
			r.upload(u)
		}
	}
	for issueType := model.SAST; issueType <= model.Secrets; issueType++ {
		r.checkLists(issueType)
	}
}

// expected returns the primary branch.
func (r *realm) expected() string {
	switch {
	case r.primary != "":
		return r.primary
	case r.branch != "":
		return r.branch
	}
	return "refs/heads/main"
}

func (r *realm) choosePrimary() {
	if r.project.ID == 0 {
		return
	}
	r.primary = rapid.SampledFrom([]string{"", "refs/heads/main", "refs/heads/dev"}).Draw(r.t, "primary")
	err := r.update(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.UpdateProject(ctx, r.project.ID, store.ProjectPatch{PrimaryBranch: &r.primary})
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

// deleteRef deletes a scanned branch other than the primary one.
func (r *realm) deleteRef() {
	ref := rapid.SampledFrom([]string{"refs/heads/main", "refs/heads/dev"}).Draw(r.t, "deleted")
	scanned := slices.ContainsFunc(r.history.sent, func(u Upload) bool { return "refs/heads/"+u.Ref == ref })
	if !scanned || ref == r.expected() {
		return
	}
	before := r.picture()
	if err := r.update(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteRef(ctx, r.project.ID, ref) }); err != nil {
		r.t.Fatal(err)
	}
	for id, f := range r.picture() {
		if want := before[id].State; f.Ref == ref && f.State != model.StateRemoved || f.Ref != ref && f.State != want {
			r.t.Fatalf("%s is deleted: %+v is %s, was %s", ref, f.Finding, f.State, want)
		}
	}
}

func first(ids []int64, n int) []int64 { return ids[:min(n, len(ids))] }

// triageOf returns the triage of a finding.
func (r *realm) triageOf(f *model.FindingWrite) model.Triage {
	return r.store.lineages[f.LineageID].Triage
}

func (r *realm) drawFilter() model.FindingFilter {
	f := model.FindingFilter{IssueType: model.IssueType(rapid.IntRange(1, 3).Draw(r.t, "issue type"))}
	f.Ref = rapid.SampledFrom([]string{"", "", "refs/heads/main", "refs/heads/dev", "refs/heads/none"}).Draw(r.t, "by ref")
	f.Dedup = rapid.Bool().Draw(r.t, "dedup")
	if rapid.Bool().Draw(r.t, "by status") {
		f.Statuses = []model.Status{model.Status(rapid.IntRange(1, 5).Draw(r.t, "status"))}
	}
	ids := slices.Sorted(maps.Keys(r.store.rows))
	if len(ids) > 0 && rapid.Bool().Draw(r.t, "by ids") {
		f.HasIDs, f.IDs = true, rapid.SliceOf(rapid.SampledFrom(ids)).Draw(r.t, "ids")
	}
	if len(ids) > 0 && rapid.IntRange(0, 2).Draw(r.t, "since") == 0 {
		f.Since = r.store.rows[rapid.SampledFrom(ids).Draw(r.t, "since that of")].RelevantSince
	}
	return f
}

// listed is a finding as clients receive it.
type listed struct {
	ID       int64     `json:"id"`
	Ref      string    `json:"ref"`
	Rule     string    `json:"rule_name"`
	State    string    `json:"state"`
	Status   string    `json:"status"`
	Triage   string    `json:"triage_state"`
	Until    string    `json:"triage_until"`
	Assignee string    `json:"assignee"`
	Created  time.Time `json:"created_at"`
	Since    time.Time `json:"relevant_since"`
	Location struct {
		Path string `json:"filePath"`
		Line int    `json:"line"`
	} `json:"location"`
}

// checkLists compares the lists of the index with the stored findings, unfiltered and filtered.
func (r *realm) checkLists(issueType model.IssueType) {
	if r.project.ID != 0 && r.project.Primary() != r.expected() {
		r.t.Fatalf("the primary branch is %s, want %s", r.project.Primary(), r.expected())
	}
	view, err := r.index.Deployment(r.t.Context(), r.tenant)
	if err != nil {
		r.t.Fatal(err)
	}
	f := r.drawFilter()
	f.IssueType = issueType
	r.checkFilter(view, f)
	r.checkFilter(view, model.FindingFilter{IssueType: issueType, Dedup: true})
	want := []listed{}
	for _, id := range r.expectedIDs(model.FindingFilter{IssueType: issueType}) {
		want = append(want, r.listedOf(id))
	}
	got := []listed{}
	if err := json.Unmarshal(r.page(view, issueType), &got); err != nil {
		r.t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.t.Fatalf("list of %s (-stored +index):\n%s", issueType, diff)
	}
}

func (r *realm) checkFilter(view *index.View, f model.FindingFilter) {
	targets, err := view.Newest(r.t.Context(), f, 1000)
	if err != nil {
		r.t.Fatal(err)
	}
	ids := []int64{}
	for _, target := range targets {
		ids = append(ids, target.FindingID)
	}
	if diff := cmp.Diff(r.expectedIDs(f), ids); diff != "" {
		r.t.Fatalf("listed by %+v (-stored +got):\n%s", f, diff)
	}
}

func (r *realm) page(view *index.View, issueType model.IssueType) []byte {
	page, err := view.Page(r.t.Context(), model.FindingFilter{IssueType: issueType}, 0, 1000)
	if err != nil {
		r.t.Fatal(err)
	}
	var text bytes.Buffer
	if _, err := page.WriteTo(&text); err != nil {
		r.t.Fatal(err)
	}
	return text.Bytes()
}

func (r *realm) listedOf(id int64) (out listed) {
	f := r.store.rows[id]
	decided := r.triageOf(f)
	out.ID, out.Ref, out.Rule, out.State, out.Triage = id, f.Ref, f.RuleName, f.State.String(), decided.State.String()
	out.Until, out.Assignee = model.LastDay(decided.Until), decided.Assignee
	out.Status, out.Created, out.Since = shownAs(f.State, decided.State).String(), f.CreatedAt, f.RelevantSince
	out.Location.Path, out.Location.Line = f.Path, f.Line
	return out
}

// shownAs implements the table of docs/reference/findings.md.
func shownAs(state model.State, decided model.TriageState) model.Status {
	switch {
	case state == model.Fixed:
		return model.StatusFixed
	case state == model.Muted || decided == model.TriageIgnored:
		return model.StatusIgnored
	case decided == model.TriageReviewing:
		return model.StatusReviewing
	case decided == model.TriageFixing:
		return model.StatusFixing
	}
	return model.StatusOpen
}

// expectedIDs returns the ids that match a filter, newest first. With deduplication, one of each
// lineage is chosen after the ref filter and before all others.
func (r *realm) expectedIDs(q model.FindingFilter) []int64 {
	var rows []*model.FindingWrite
	for _, f := range r.store.rows {
		if f.State != model.StateRemoved && f.IssueType == q.IssueType && (q.Ref == "" || f.Ref == q.Ref) {
			rows = append(rows, f)
		}
	}
	slices.SortFunc(rows, func(a, b *model.FindingWrite) int {
		if c := b.RelevantSince.Compare(a.RelevantSince); c != 0 {
			return c
		}
		return int(b.ID - a.ID)
	})
	ids := []int64{}
	for _, f := range rows {
		if (!q.Dedup || r.represents(f, rows)) && (len(q.Statuses) == 0 || slices.Contains(q.Statuses, shownAs(f.State, r.triageOf(f).State))) &&
			(!q.HasIDs || slices.Contains(q.IDs, f.ID)) && !f.RelevantSince.Before(q.Since) {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

// represents reports whether deduplication chooses the finding among rows ordered newest first.
func (r *realm) represents(f *model.FindingWrite, rows []*model.FindingWrite) bool {
	chosen := -1
	for i, other := range rows {
		if other.LineageID != f.LineageID {
			continue
		}
		if other.Ref == r.expected() {
			return other == f
		}
		if chosen < 0 {
			chosen = i
		}
	}
	return rows[chosen] == f
}

// rebuild compares the incrementally updated index with a newly built one.
func (r *realm) rebuild() {
	for issueType := model.SAST; issueType <= model.Secrets; issueType++ {
		var pages [2][]byte
		for i, x := range []*index.Index{r.index, index.New(r.real, index.Options{})} {
			view, err := x.Deployment(r.t.Context(), r.tenant)
			if err != nil {
				r.t.Fatal(err)
			}
			pages[i] = r.page(view, issueType)
		}
		if diff := cmp.Diff(string(pages[1]), string(pages[0])); diff != "" {
			r.t.Fatalf("list of %s (-built at once +followed):\n%s", issueType, diff)
		}
	}
}
