package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// full sets every field of a finding.
func full(i int, w *model.FindingWrite) {
	w.IssueType, w.Reachability, w.Transitivity = model.SCA, model.AlwaysReachable, model.Transitive
	w.Package, w.ValidationState, w.SecretType = "lodash", model.ConfirmedValid, "AWS"
	w.Malicious, w.ProOnly, w.Historical, w.SeenByFull = i&1 > 0, i&2 > 0, i&4 > 0, i&8 > 0
	w.State, w.StateUpdatedAt = model.Muted, w.CreatedAt.Add(time.Microsecond)
}

func TestFindingsRoundTrip(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p := d.project("acme/payments")
		writes := d.findings(p, 16, full)
		other := d.findings(p, 1, func(_ int, w *model.FindingWrite) { w.Source = "gitleaks" })
		d.view(func(ctx context.Context, tx *store.Tx) error {
			got, err := tx.Findings(ctx, p.ID, "refs/heads/main", "semgrep")
			same(t, "findings of the stream", got, findingsOf(writes))
			d.check(err)
			for _, w := range append(writes, other...) {
				o, err := tx.Finding(ctx, w.ID)
				d.check(err)
				same(t, "occurrence", model.FindingWrite{Finding: o.Finding, Body: o.Body, Evidence: o.Evidence}, w)
				same(t, "lineage", o.Lineage, model.Lineage{ID: w.LineageID, ProjectID: p.ID, Triage: model.Triage{State: model.TriageUntriaged}})
			}
			return nil
		})
	})
}

func findingsOf(writes []model.FindingWrite) []model.Finding {
	list := make([]model.Finding, len(writes))
	for i, w := range writes {
		list[i] = w.Finding
	}
	return list
}

func TestFindingIDsIncreasePerDeployment(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		for _, want := range [][]int64{{1, 2, 3}, {4}, nil, {5, 6}} {
			d.update(func(ctx context.Context, tx *store.Tx) error {
				got, err := tx.NewFindingIDs(ctx, len(want))
				same(t, "ids", got, want)
				return err
			})
		}
	})
}

func TestUpdateFindings(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		writes := d.findings(d.project("acme/payments"), 3, nil)
		for i := range writes {
			writes[i].Body, writes[i].Evidence = nil, nil
		}
		d.silently("an update to what is stored", func(ctx context.Context, tx *store.Tx) error { return tx.UpdateFindings(ctx, writes) })

		// Two findings swap their identities; only one gets a new body.
		a, b := writes[0], writes[1]
		a.Identity, b.Identity = b.Identity, a.Identity
		a.State, a.Body, a.Evidence = model.Fixed, []byte(`"new":1`), []byte(`{}`)
		before := d.version()
		d.update(func(ctx context.Context, tx *store.Tx) error {
			return tx.UpdateFindings(ctx, []model.FindingWrite{a, b, writes[2]})
		})
		d.view(func(ctx context.Context, tx *store.Tx) error {
			first, err := tx.Finding(ctx, a.ID)
			d.check(err)
			same(t, "first", model.FindingWrite{Finding: first.Finding, Body: first.Body, Evidence: first.Evidence}, a)
			second, err := tx.Finding(ctx, b.ID)
			same(t, "second", second.Finding, b.Finding)
			same(t, "second's body", string(second.Body), `"location":{"line":1}`)
			return err
		})
		same(t, "fed", feedOf(d, before).findingIDs(), []int64{a.ID, b.ID})
	})
}

func TestUpdateOfUnknownFindingWritesNothing(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		writes := d.findings(d.project("acme/payments"), 1, nil)
		before := feedOf(d, 0)
		unknown := writes[0]
		unknown.ID = 2 // an id of the noisy tenant
		writes[0].State = model.Fixed
		err := s.Update(t.Context(), d.id, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			return tx.UpdateFindings(ctx, []model.FindingWrite{writes[0], unknown})
		})
		fails(t, "update", err, model.ErrNotFound)
		same(t, "feed", feedOf(d, 0), before)
	})
}

func TestHistory(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		writes := d.findings(d.project("acme/payments"), 2, nil)
		events := []model.FindingEvent{
			{FindingID: writes[0].ID, ScanID: 7, Kind: model.EventFixed},
			{FindingID: writes[1].ID, ScanID: 7, Kind: model.EventMuted},
			{FindingID: writes[0].ID, ScanID: 8, Kind: model.EventMoved, Detail: `{"from":"a.go"}`},
		}
		var now time.Time
		d.silently("events", func(ctx context.Context, tx *store.Tx) error {
			now = tx.Now()
			return tx.AddEvents(ctx, events)
		})
		d.view(func(ctx context.Context, tx *store.Tx) error {
			got, err := tx.History(ctx, writes[0].ID)
			d.check(err)
			if len(got) != 2 || got[0].ID >= got[1].ID {
				t.Fatalf("history: %+v", got)
			}
			for i, want := range []model.FindingEvent{events[0], events[2]} {
				same(t, "event", got[i].FindingEvent, want)
				same(t, "time", got[i].At, now)
			}
			none, err := tx.History(ctx, 1<<40)
			same(t, "history of an unknown finding", none, []store.FindingHistory{})
			return err
		})
	})
}

// TestFindingsOfOtherTenantsAreHidden checks that ids of another tenant are not found, including ids that
// both tenants use.
func TestFindingsOfOtherTenantsAreHidden(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		noise := d.noise()
		foreignFeed := feedOf(noise, 0)
		if len(foreignFeed.Findings) == 0 || len(foreignFeed.Lineages) == 0 {
			t.Fatal("the noisy tenant makes no noise")
		}
		d.view(func(ctx context.Context, tx *store.Tx) error {
			for _, f := range foreignFeed.Findings {
				_, err := tx.Finding(ctx, f.ID)
				fails(t, "finding", err, model.ErrNotFound)
				history, err := tx.History(ctx, f.ID)
				same(t, "history", history, []store.FindingHistory{})
				d.check(err)
				trail, err := tx.TriageTrail(ctx, f.LineageID)
				same(t, "trail", trail, []model.TriageEvent{})
				d.check(err)
				list, err := tx.Findings(ctx, f.ProjectID, f.Ref, f.Source)
				same(t, "findings", list, []model.Finding{})
				d.check(err)
				lineages, err := tx.LineagesOf(ctx, f.ProjectID, []model.Identity{f.Identity})
				same(t, "lineages", lineages, map[model.Identity]model.Lineage{})
				d.check(err)
			}
			byID, err := tx.Lineages(ctx, foreignFeed.lineageIDs())
			same(t, "lineages by id", byID, map[int64]model.Lineage{})
			return err
		})
		bodies, err := s.Bodies(t.Context(), d.id, foreignFeed.findingIDs())
		same(t, "bodies", bodies, map[int64][]byte{})
		d.check(err)
		foreign := foreignFeed.lineageIDs()[0]
		err = s.Update(t.Context(), d.id, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			return tx.Annotate(ctx, foreign, func(a *model.Annotations) { a.EPSS = &model.EPSS{} })
		})
		fails(t, "annotate", err, model.ErrNotFound)
		err = s.Update(t.Context(), d.id, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			return tx.UpdateTriage(ctx, []model.TriageEvent{{LineageID: foreign, At: tx.Now()}})
		})
		fails(t, "triage", err, model.ErrNotFound)
		same(t, "their rows", feedOf(noise, 0), foreignFeed)
	})
}
