package store_test

import (
	"context"
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

func TestTriageHistory(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		writes := d.findings(d.project("acme/payments"), 3, nil)
		by := model.Actor{Kind: "token", ID: "abc", Name: "ci"}
		at := storetest.Epoch.Add(time.Hour)
		untriaged := model.Triage{State: model.TriageUntriaged}
		ignored := model.Triage{State: model.TriageIgnored, Reason: model.FalsePositive, Comment: "no", At: at, By: by, Automatic: true}
		fixing := model.Triage{State: model.TriageFixing, Comment: "soon", At: at, By: by}
		events := []model.TriageEvent{
			{LineageID: writes[0].LineageID, At: at, By: by, Before: untriaged, After: ignored, Note: "no"},
			{LineageID: writes[1].LineageID, At: at, By: by, Before: untriaged, After: fixing},
			{LineageID: writes[0].LineageID, At: at, By: by, Before: ignored, After: fixing, Note: "soon"},
		}
		before := d.version()
		d.update(func(ctx context.Context, tx *store.Tx) error { return tx.UpdateTriage(ctx, events) })
		same(t, "fed lineages", feedOf(d, before).lineageIDs(), []int64{writes[0].LineageID, writes[1].LineageID})
		same(t, "fed findings", feedOf(d, before).findingIDs(), []int64{})
		d.view(func(ctx context.Context, tx *store.Tx) error {
			lineages, err := tx.Lineages(ctx, []int64{writes[0].LineageID, writes[2].LineageID})
			d.check(err)
			same(t, "the last event counts", lineages[writes[0].LineageID].Triage, fixing)
			same(t, "another lineage", lineages[writes[2].LineageID].Triage, untriaged)
			trail, err := tx.TriageTrail(ctx, writes[0].LineageID)
			for i := range trail {
				trail[i].ID = 0
			}
			same(t, "trail", trail, []model.TriageEvent{events[0], events[2]})
			return err
		})
		repeated := []model.TriageEvent{{LineageID: writes[0].LineageID, At: at, By: by, Before: fixing, After: fixing, Note: "again"}}
		d.silently("the same triage again", func(ctx context.Context, tx *store.Tx) error { return tx.UpdateTriage(ctx, repeated) })
		gone := []model.TriageEvent{{LineageID: writes[0].LineageID, After: ignored}, {LineageID: 1 << 40, After: ignored}}
		fails(t, "a lineage that is not there", s.Update(t.Context(), d.id, by, func(ctx context.Context, tx *store.Tx) error {
			return tx.UpdateTriage(ctx, gone)
		}), model.ErrNotFound)
		d.view(func(ctx context.Context, tx *store.Tx) error {
			trail, err := tx.TriageTrail(ctx, writes[0].LineageID)
			same(t, "length of the trail", len(trail), 3)
			return err
		})
	})
}

func TestAnnotate(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		w := d.findings(d.project("acme/payments"), 1, nil)[0]
		note := func(score float64) func(context.Context, *store.Tx) error {
			return func(ctx context.Context, tx *store.Tx) error {
				return tx.Annotate(ctx, w.LineageID, func(a *model.Annotations) {
					if a.EPSS == nil {
						a.EPSS = &model.EPSS{}
					}
					a.EPSS.Score = score
					a.ReviewComments = []model.ReviewComment{{ExternalDiscussionID: "d", ExternalNoteID: 1}}
				})
			}
		}
		d.update(note(0.25))
		before := d.version()
		d.update(note(0.5))
		d.silently("the same annotation again", note(0.5))
		same(t, "fed", feedOf(d, before).lineageIDs(), []int64{w.LineageID})
		d.view(func(ctx context.Context, tx *store.Tx) error {
			o, err := tx.Finding(ctx, w.ID)
			want := model.Annotations{
				EPSS: &model.EPSS{Score: 0.5}, ReviewComments: []model.ReviewComment{{ExternalDiscussionID: "d", ExternalNoteID: 1}},
			}
			same(t, "annotations", o.Lineage.Annotations, want)
			return err
		})
		list := events(t, s, model.Deployment{ID: d.id})
		last := list[len(list)-1]
		same(t, "action", last.Action, "finding.annotate")
		same(t, "before", decodeMap(t, last.Before), map[string]any{"epss_score": map[string]any{"score": 0.25, "percentile": 0.0}})
		same(t, "after", decodeMap(t, last.After), map[string]any{"epss_score": map[string]any{"score": 0.5, "percentile": 0.0}})
	})
}

func decodeMap(t *testing.T, text string) (m map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return m
}

// TestFeedContainsIgnoredTime checks that the feed contains when a lineage was ignored, also if it
// was created as ignored.
func TestFeedContainsIgnoredTime(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		writes := d.findings(d.project("acme/payments"), 2, nil)
		by := model.Actor{Kind: "user", Name: "ada"}
		id, other := writes[0].LineageID, writes[1].LineageID
		at := func(hours int) time.Time { return storetest.Epoch.Add(time.Duration(hours) * time.Hour) }
		triage := func(state model.TriageState, hours int) model.Triage {
			return model.Triage{State: state, At: at(hours), By: by}
		}
		decide := func(before, after model.Triage, hours int) {
			d.update(func(ctx context.Context, tx *store.Tx) error {
				return tx.UpdateTriage(ctx, []model.TriageEvent{{LineageID: id, At: at(hours), By: by, Before: before, After: after}})
			})
		}
		before := d.version()
		fed := func(what string, want model.ClockPauses) {
			t.Helper()
			for _, since := range []int64{0, before} {
				for _, l := range feedOf(d, since).Lineages {
					switch l.ID {
					case id:
						same(t, what, l.Stops, want)
					case other:
						same(t, "of another lineage", l.Stops, model.ClockPauses(""))
					}
				}
			}
			before = d.version()
		}
		stop := func(hours int) model.ClockPauses {
			return model.ClockPauses(strconv.FormatInt(at(hours).UnixMicro(), 10))
		}
		untriaged, ignored := model.Triage{State: model.TriageUntriaged}, triage(model.TriageIgnored, 1)
		fed("before any decision", "")
		decide(untriaged, ignored, 1)
		fed("ignored", stop(1)+"-")
		changed := triage(model.TriageIgnored, 2)
		decide(ignored, changed, 2)
		fed("ignored for another reason", stop(1)+"-")
		decide(changed, triage(model.TriageReopened, 4), 4)
		fed("reopened", stop(1)+"-"+stop(4)+" ")
		decide(triage(model.TriageReopened, 4), triage(model.TriageFixing, 5), 5)
		fed("taken on", stop(1)+"-"+stop(4)+" ")
		decide(triage(model.TriageFixing, 5), triage(model.TriageIgnored, 6), 6)
		fed("ignored once more", stop(1)+"-"+stop(4)+" "+stop(6)+"-")
		d.update(func(ctx context.Context, tx *store.Tx) error {
			ids, err := tx.NewLineageIDs(ctx, 1)
			d.check(err)
			id = ids[0]
			return tx.AddLineages(ctx, []model.Lineage{{ID: id, ProjectID: writes[0].ProjectID, Triage: triage(model.TriageIgnored, 7)}})
		})
		fed("ignored from the beginning", stop(7)+"-")
	})
}
