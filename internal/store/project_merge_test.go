package store_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
	"github.com/redoubt/redoubt/internal/ticket"
)

// twins are two projects of one repository. Findings 0 and 1 of both are the same on the same ref;
// the third exists in one project only.
type twins struct {
	tenant
	from, into           model.Project
	fromFound, intoFound []model.FindingWrite
}

func newTwins(t testing.TB, s *store.Store) (w twins) {
	t.Helper()
	w.tenant = newTenant(t, s)
	identity := func(project, i int) model.Identity {
		if i == 2 {
			i = 10 * (project + 1)
		}
		return model.Identity{Kind: model.IdentityMatchBased, Hash: model.Digest{1, byte(i)}}
	}
	w.from, w.into = w.project("acme/from"), w.project("acme/into")
	w.fromFound = w.findings(w.from, 3, func(i int, f *model.FindingWrite) { f.Identity = identity(0, i) })
	w.intoFound = w.findings(w.into, 3, func(i int, f *model.FindingWrite) { f.Identity = identity(1, i) })
	return w
}

// slugOf returns the slug of the ticket with a number.
func slugOf(number int64) string { return fmt.Sprint("SEC-", number) }

// triage decides about a lineage and links it to the ticket with a number.
func (w twins) triage(lineage int64, state model.TriageState, number int64) {
	w.t.Helper()
	w.update(func(ctx context.Context, tx *store.Tx) error {
		event := model.TriageEvent{
			LineageID: lineage, At: tx.Now(), By: tx.Actor(),
			Before: model.Triage{State: model.TriageUntriaged}, After: model.Triage{State: state, At: tx.Now(), By: tx.Actor()},
		}
		if err := tx.UpdateTriage(ctx, []model.TriageEvent{event}); err != nil {
			return err
		}
		all, err := tx.Lineages(ctx, []int64{lineage})
		w.check(err)
		live, err := tx.LiveOfLineages(ctx, all[lineage].ProjectID, []int64{lineage})
		w.check(err)
		f := live[lineage][0]
		f.ProjectID = all[lineage].ProjectID
		_, err = ticket.Link(ctx, tx, ticket.Target{URL: "https://tracker.example/browse/" + slugOf(number)}, []model.Finding{f})
		return err
	})
}

func (w twins) merge() (p model.Project) {
	w.t.Helper()
	w.update(func(ctx context.Context, tx *store.Tx) (err error) {
		p, err = tx.MergeProjects(ctx, w.from.ID, w.into.ID)
		return err
	})
	return p
}

// TestProjectMergePreservesHistory checks that the history of a remaining finding contains the merge and the
// events of the deleted one. It must not refer to deleted findings, and must not contain their
// removals.
func TestProjectMergePreservesHistory(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newTwins(t, s)
		merged, stays, only := w.fromFound[0].ID, w.intoFound[0].ID, w.fromFound[2].ID
		w.update(func(ctx context.Context, tx *store.Tx) error {
			return tx.AddEvents(ctx, []model.FindingEvent{
				{FindingID: merged, ScanID: 7, Kind: model.EventMoved, Detail: `{"from":"a.py","to":"b.py"}`},
				{FindingID: merged, Kind: model.EventRemoved, Detail: fmt.Sprintf(`{"reason":"x","merged_into":%d}`, 1_000_000)},
				{FindingID: merged, Kind: model.EventRemoved, Detail: `{"reason":"withdrawn: the advisory was withdrawn"}`},
				{FindingID: merged, Kind: model.EventMerged, Detail: fmt.Sprintf(`{"finding_id":%d}`, only)},
				{FindingID: only, Kind: model.EventFixed},
				{FindingID: only, Kind: model.EventPrecedent, Detail: fmt.Sprintf(`{"finding_id":%d,"state":"ignored"}`, merged)},
				{FindingID: only, Kind: model.EventRemoved, Detail: fmt.Sprintf(`{"reason":"merged into #%d, which a reports","merged_into":%d}`, merged, merged)},
				{FindingID: stays, Kind: model.EventMuted},
			})
		})
		w.merge()
		w.view(func(ctx context.Context, tx *store.Tx) error {
			historyOf := func(id int64) (out []string) {
				events, err := tx.History(ctx, id)
				w.check(err)
				for _, e := range events {
					out = append(out, fmt.Sprint(e.Kind, " ", e.Detail))
				}
				return out
			}
			same(t, "history of what stays", historyOf(stays), []string{
				`moved {"from":"a.py","to":"b.py"}`, fmt.Sprintf(`merged {"finding_id":%d}`, only), "muted ", `merged {"project":"acme/from"}`,
			})
			same(t, "history of what goes", len(historyOf(merged)), 0)
			same(t, "history of what only from had", historyOf(only), []string{
				"fixed ", fmt.Sprintf(`precedent {"finding_id":%d,"state":"ignored"}`, stays),
				fmt.Sprintf(`removed {"merged_into":%d,"reason":"merged into #%d, which a reports"}`, stays, stays),
			})
			return nil
		})
	})
}

func TestProjectMergeCombinesFindings(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newTwins(t, s)
		w.triage(w.fromFound[0].LineageID, model.TriageIgnored, 1) // only the finding of from has a decision
		w.triage(w.fromFound[1].LineageID, model.TriageIgnored, 2)
		w.triage(w.intoFound[1].LineageID, model.TriageFixing, 3) // both have one: that of into stays
		w.triage(w.fromFound[2].LineageID, model.TriageReviewing, 4)
		w.merge()
		w.view(func(ctx context.Context, tx *store.Tx) error {
			for i, f := range w.fromFound[:2] {
				_, err := tx.Finding(ctx, f.ID)
				fails(t, fmt.Sprint("from's finding ", i, ", which both have"), err, model.ErrNotFound)
			}
			for _, c := range []struct {
				id, lineage int64
				state       model.TriageState
				ticket      int64
			}{
				{w.intoFound[0].ID, w.intoFound[0].LineageID, model.TriageIgnored, 1},
				{w.intoFound[1].ID, w.intoFound[1].LineageID, model.TriageFixing, 3},
				{w.fromFound[2].ID, w.fromFound[2].LineageID, model.TriageReviewing, 4},
				{w.intoFound[2].ID, w.intoFound[2].LineageID, model.TriageUntriaged, 0},
			} {
				got, err := tx.Finding(ctx, c.id)
				if err != nil {
					return err
				}
				if got.ProjectID != w.into.ID || got.LineageID != c.lineage || got.Lineage.ProjectID != w.into.ID || got.Lineage.Triage.State != c.state {
					t.Errorf("finding %d is %+v", c.id, got)
				}
				if ticket := got.Lineage.Annotations.ExternalTicket; ticket == nil != (c.ticket == 0) || ticket != nil && ticket.ExternalSlug != slugOf(c.ticket) {
					t.Errorf("finding %d has the ticket %v, want %d", c.id, ticket, c.ticket)
				}
			}
			identities := []model.Identity{w.fromFound[0].Identity, w.fromFound[2].Identity, w.intoFound[2].Identity}
			lineages, err := tx.LineagesOf(ctx, w.into.ID, identities)
			same(t, "how many of the identities are known", len(lineages), len(identities))
			trail, err2 := tx.TriageTrail(ctx, w.intoFound[0].LineageID)
			same(t, "how long the trail is: from's decision, its ticket, and taking it over", len(trail), 3)
			if err == nil {
				err = err2
			}
			return err
		})
	})
}

// TestProjectMergeUpdatesFeed checks that an index that follows the merge by the feed equals one
// built afterwards.
func TestProjectMergeUpdatesFeed(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newTwins(t, s)
		w.triage(w.fromFound[0].LineageID, model.TriageIgnored, 1)
		applied := newMirror()
		version := applied.apply(w.tenant, 0)
		w.merge()
		applied.apply(w.tenant, version)
		rebuilt := newMirror()
		rebuilt.apply(w.tenant, 0)
		same(t, "applied, as rebuilt", applied, rebuilt)
	})
}

// mirror is a minimal index.
type mirror struct {
	Projects map[int64]model.Project
	Lineages map[int64]model.Lineage
	Findings map[int64]model.Finding
}

func newMirror() *mirror {
	return &mirror{map[int64]model.Project{}, map[int64]model.Lineage{}, map[int64]model.Finding{}}
}

func (m *mirror) apply(d tenant, since int64) (version int64) {
	d.t.Helper()
	var mu sync.Mutex // a whole feed has several concurrent readers
	version, _, err := d.s.Feed(d.t.Context(), d.id, since, func(b *model.Batch) error {
		mu.Lock()
		defer mu.Unlock()
		for _, p := range b.Projects {
			m.Projects[p.ID] = p
		}
		for _, l := range b.Lineages {
			m.Lineages[l.ID] = l
		}
		for _, f := range b.Findings {
			m.Findings[f.ID] = f.Finding
		}
		for _, id := range b.DeletedProjects {
			delete(m.Projects, id)
		}
		for _, id := range b.DeletedLineages {
			delete(m.Lineages, id)
		}
		for _, id := range b.DeletedFindings {
			delete(m.Findings, id)
		}
		return nil
	})
	d.check(err)
	return version
}

func TestProjectMergeFillsMissingFields(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		var from, into model.Project
		scanned := storetest.Epoch.Add(time.Hour)
		d.update(func(ctx context.Context, tx *store.Tx) (err error) {
			if from, err = tx.CreateProject(ctx, model.Project{Name: "acme/old", URL: "https://old", Tags: []string{"a"}, RepoID: "1", DefaultBranch: main}); err != nil {
				return err
			}
			if from, err = tx.RenameProject(ctx, from.ID, "acme/from"); err != nil {
				return err
			}
			if into, err = tx.CreateProject(ctx, model.Project{Name: "acme/into", URL: "https://into"}); err != nil {
				return err
			}
			if err := tx.ScanApplied(ctx, from.ID, main, true, scanned); err != nil {
				return err
			}
			for i, p := range []model.Project{from, into} {
				scan := model.Scan{ProjectID: p.ID, Ref: main, Source: "semgrep", StartedAt: scanned, Outcome: model.ScanApplied}
				if _, err := tx.AddScan(ctx, scan); err != nil {
					return err
				}
				for j, path := range []string{"both", "both-too", fmt.Sprint("only-", i)} {
					// For "both" the statement of from is newer; for "both-too" that of into is.
					statement := model.InventoryStatement{
						ProjectID: p.ID, Ref: main, Source: "semgrep", At: scanned.Add(time.Duration((i*2-1)*(j*2-1)) * time.Minute), Digest: model.Digest{byte(i)},
						Inventory: model.Inventory{Lockfile: path, Dependencies: []model.Dependency{{Lockfile: path, Ecosystem: "npm", Name: p.Name, Version: "1"}}},
					}
					if _, _, err := tx.PutInventory(ctx, statement); err != nil {
						return err
					}
				}
			}
			return nil
		})
		var got model.Project
		d.update(func(ctx context.Context, tx *store.Tx) (err error) {
			got, err = tx.MergeProjects(ctx, from.ID, into.ID)
			return err
		})
		want := into
		want.Tags, want.RepoID, want.DefaultBranch, want.LatestScanAt = from.Tags, "1", main, scanned
		same(t, "the merged project", got, want)
		d.view(func(ctx context.Context, tx *store.Tx) error {
			for _, name := range []string{"acme/old", "acme/from", "acme/into"} {
				p, err := tx.ProjectByName(ctx, name)
				if err != nil || p.ID != into.ID {
					t.Errorf("%s answers %d, %v", name, p.ID, err)
				}
			}
			scans, _, err := tx.Scans(ctx, model.ScanFilter{ProjectID: into.ID}, store.ScanCursor{}, 10)
			same(t, "how many scans", len(scans), 2)
			if err != nil {
				return err
			}
			dependencies, err := tx.AllDependencies(ctx, into.ID, main)
			byLockfile := map[string]string{}
			for _, dep := range dependencies {
				byLockfile[dep.Lockfile] = dep.Name
			}
			same(t, "lockfiles and what they hold", byLockfile, map[string]string{"both": "acme/from", "both-too": "acme/into", "only-0": "acme/from", "only-1": "acme/into"})
			return err
		})
	})
}

func TestProjectMergeRejectsSameOrUnknownProject(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p := d.project("acme/a")
		d.update(func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.MergeProjects(ctx, p.ID, p.ID)
			invalid(t, "one with itself", err, "into")
			_, err = tx.MergeProjects(ctx, p.ID, p.ID+1000)
			fails(t, "into none", err, model.ErrNotFound)
			_, err = tx.MergeProjects(ctx, p.ID+1000, p.ID)
			fails(t, "of none", err, model.ErrNotFound)
			return nil
		})
	})
}
