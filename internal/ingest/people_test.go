package ingest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/ingest/lifetest"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/triage"
)

// people are two whom findings may be assigned to.
func (r *realm) people() {
	err := r.update(func(ctx context.Context, tx *store.Tx) error {
		for _, name := range []string{"ada", "bob"} {
			u, err := r.real.User(ctx, name)
			if errors.Is(err, redoubt.ErrNotFound) {
				_, err = tx.CreateUser(ctx, redoubt.User{Name: name}, redoubt.RoleTriager)
			} else if err == nil {
				err = tx.SetRole(ctx, u.ID, redoubt.RoleTriager)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

// triage lets somebody decide in bulk, by way of the index, and says by the
// model which findings that is about.
func (r *realm) triage() {
	q := triage.Request{HasFilter: true, Filter: r.drawFilter(), Limit: rapid.IntRange(1, 4).Draw(r.t, "limit")}
	q.State = rapid.SampledFrom([]redoubt.TriageState{0, redoubt.TriageIgnored, redoubt.TriageReviewing, redoubt.TriageFixing, redoubt.TriageReopened}).Draw(r.t, "state")
	if q.State != 0 && q.State != redoubt.TriageReopened && rapid.Bool().Draw(r.t, "ends") {
		q.Until = r.now.Add(time.Duration(rapid.IntRange(1, 6).Draw(r.t, "until"))*time.Minute + time.Second)
	}
	if rapid.IntRange(0, 2).Draw(r.t, "assign") == 0 {
		name := rapid.SampledFrom([]string{"", "ada", "bob"}).Draw(r.t, "assignee")
		q.Assign = &name
	}
	q.Automatic, q.Note = rapid.Bool().Draw(r.t, "automatic"), "seen"
	chosen := map[*lifetest.Lineage]bool{}
	for _, id := range first(r.expectedIDs(q.Filter), q.Limit) {
		l := r.finding(id).Lineage
		if !q.Automatic || !l.Human || l.Triage == redoubt.TriageUntriaged {
			chosen[l] = true
		}
	}
	want := []int64{}
	for _, f := range r.all() {
		id := r.ids[f.Serial]
		if chosen[f.Lineage] && f.State != redoubt.StateRemoved && r.store.rows[id].IssueType == q.Filter.IssueType {
			want = append(want, id)
		}
	}
	slices.Sort(want)
	var got triage.Result
	err := r.update(func(ctx context.Context, tx *store.Tx) error {
		view, err := r.index.Deployment(ctx, r.tenant)
		if err != nil {
			return err
		}
		got, err = triage.Apply(ctx, tx, view, q)
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.IDs); diff != "" {
		r.t.Fatalf("triaged by %+v (-model +got):\n%s", q, diff)
	}
	for l := range chosen {
		if q.State != 0 {
			l.Triage, l.Human, l.Until = q.State, !q.Automatic, q.Until
		}
		if q.Assign != nil {
			l.Assignee = *q.Assign
		}
	}
}

// tidy is what the housekeeping does about decisions that are over.
func (r *realm) tidy() {
	err := r.update(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.ExpireDecisions(ctx)
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.model.End(r.store.clock)
}
