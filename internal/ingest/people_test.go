package ingest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/triage"
)

// people adds two users that findings may be assigned to.
func (r *realm) people() {
	err := r.update(func(ctx context.Context, tx *store.Tx) error {
		for _, name := range []string{"ada", "bob"} {
			u, err := r.real.User(ctx, name)
			if errors.Is(err, model.ErrNotFound) {
				_, err = tx.CreateUser(ctx, model.User{Name: name}, model.RoleTriager)
			} else if err == nil {
				err = tx.SetRole(ctx, u.ID, model.RoleTriager)
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

// triage applies a bulk decision through the index and returns the affected findings.
func (r *realm) triage() {
	q := triage.Request{HasFilter: true, Filter: r.drawFilter(), Limit: rapid.IntRange(1, 4).Draw(r.t, "limit")}
	q.State = rapid.SampledFrom([]model.TriageState{0, model.TriageIgnored, model.TriageReviewing, model.TriageFixing, model.TriageReopened}).Draw(r.t, "state")
	if q.State != 0 && q.State != model.TriageReopened && rapid.Bool().Draw(r.t, "ends") {
		q.Until = r.now.Add(time.Duration(rapid.IntRange(1, 6).Draw(r.t, "until"))*time.Minute + time.Second)
	}
	if rapid.IntRange(0, 2).Draw(r.t, "assign") == 0 {
		name := rapid.SampledFrom([]string{"", "ada", "bob"}).Draw(r.t, "assignee")
		q.Assign = &name
	}
	q.Automatic, q.Note = rapid.Bool().Draw(r.t, "automatic"), "seen"
	chosen := map[int64]bool{} // lineages
	for _, id := range first(r.expectedIDs(q.Filter), q.Limit) {
		f := r.store.rows[id]
		if was := r.triageOf(f); !q.Automatic || was.Automatic || was.State == model.TriageUntriaged {
			chosen[f.LineageID] = true
		}
	}
	want := []int64{}
	for id, f := range r.store.rows {
		if chosen[f.LineageID] && f.State != model.StateRemoved && f.IssueType == q.Filter.IssueType {
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
		r.t.Fatalf("triaged by %+v (-expected +got):\n%s", q, diff)
	}
	for l := range chosen {
		is := r.store.lineages[l].Triage
		if q.State != 0 && (is.State != q.State || is.Automatic != q.Automatic || !is.Until.Equal(q.Until)) || q.Assign != nil && is.Assignee != *q.Assign {
			r.t.Fatalf("triaged by %+v it is %+v", q, is)
		}
		r.decides(l)
	}
}

// tidy expires decisions as the housekeeping does.
func (r *realm) tidy() {
	err := r.update(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.ExpireDecisions(ctx)
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, l := range r.store.lineages {
		if until := l.Triage.Until; !until.IsZero() && !until.After(r.store.clock) {
			r.t.Fatalf("it is %s, and decided: %+v", r.store.clock, l.Triage)
		}
	}
}
