package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// world is a tenant with findings and the expected decisions of users about them.
type world struct {
	tenant
	*rand.Rand
	clock *storetest.Clock
	found []model.FindingWrite
	users map[int64]model.Triage // newest decision of a user that was not replaced, by lineage
	log   []string
}

// TestExceptionHistories applies random sequences of requests, decisions, VEX documents,
// triage, expiries and undos. A finding must be ignored exactly while an active exception covers it
// or a user's triage ignores it. Proposals of uploads must have no effect, and the trail must
// explain every change.
func TestExceptionHistories(t *testing.T) {
	eachTimed(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		d := newTenant(t, s)
		for seed := range uint64(2) {
			w := &world{tenant: d, Rand: rand.New(rand.NewPCG(seed, 1)), clock: clock, users: map[int64]model.Triage{}} //nolint:gosec // not for secrets
			p := d.project(fmt.Sprint("acme/app-", seed))
			w.found = append(d.findings(p, 3, nil), d.vulnerable(p, 3)...)
			for range 60 {
				w.step(p)
				w.checkTriage()
			}
			d.update(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteProject(ctx, p.ID) })
			w.endAll()
		}
	})
}

// attempt runs a change by a user. A rejected change must have no effect.
func (w *world) attempt(what string, change func(ctx context.Context, tx *store.Tx) error) {
	w.t.Helper()
	w.log = append(w.log, what)
	err := w.s.Update(w.t.Context(), w.id, storetest.Actor, change)
	_, invalid := errors.AsType[*model.InvalidError](err)
	if err != nil && !invalid && !errors.Is(err, model.ErrConflict) && !errors.Is(err, model.ErrNotFound) {
		w.fail(err)
	}
	w.update(func(ctx context.Context, tx *store.Tx) error {
		_, err := follow(ctx, tx)
		return err
	})
}

func (w *world) fail(why any) {
	w.t.Helper()
	w.t.Fatalf("%v after:\n%s", why, strings.Join(w.log, "\n"))
}

// any returns an exception with one of the states.
func (w *world) any(states ...model.ExceptionState) (e model.Exception) {
	w.view(func(ctx context.Context, tx *store.Tx) error {
		list, _, err := tx.ExceptionPage(ctx, store.ExceptionQuery{Limit: 1000})
		list = slices.DeleteFunc(list, func(e model.Exception) bool { return !slices.Contains(states, e.StateAt(tx.Now())) })
		if len(list) > 0 {
			e = list[w.IntN(len(list))]
		}
		return err
	})
	return e
}

// step performs one random action of users, uploads or the clock.
func (w *world) step(p model.Project) {
	w.clock.Advance(time.Minute)
	end := []time.Time{{}, w.clock.Now().Add(time.Duration(1+w.IntN(48)) * time.Hour)}[w.IntN(2)]
	f := w.found[w.IntN(len(w.found))]
	requested, active := w.any(model.ExceptionRequested), w.any(model.ExceptionActive)
	switch w.IntN(12) {
	case 0, 1:
		of := []model.FindingWrite{f, w.found[w.IntN(len(w.found))]}[:1+w.IntN(2)]
		findings := w.written(of)
		w.attempt(fmt.Sprint("ask about ", lineagesOf(of)), func(ctx context.Context, tx *store.Tx) error {
			_, err := exceptions.Request(ctx, tx, model.Exception{Reason: "x", TriageReason: model.AcceptableRisk, Until: end, CreatorID: 7}, findings)
			return err
		})
	case 2, 3:
		w.approve(requested, end)
	case 4:
		w.attempt(fmt.Sprint("refuse or withdraw ", requested.ID), func(ctx context.Context, tx *store.Tx) (err error) {
			switch {
			case requested.Document != nil:
				_, err = exceptions.RefuseVEX(ctx, tx, requested.ID, "no")
			case w.IntN(2) == 0:
				_, err = exceptions.Refuse(ctx, tx, requested.ID, "no")
			default:
				_, err = exceptions.Withdraw(ctx, tx, requested.ID, 7)
			}
			return err
		})
	case 5:
		w.undo(active)
	case 6:
		e := accepted([]string{"rule-1", "CVE-2021-44228"}[w.IntN(2)])
		e.Until, e.Projects = end, model.ProjectGlobs{p.Name}
		if w.IntN(2) == 0 {
			e.Paths = model.PathGlobs{f.Path}
		}
		w.attempt(fmt.Sprint("create for ", e.Target, " at ", e.Paths), func(ctx context.Context, tx *store.Tx) error {
			_, _, err := exceptions.Add(ctx, tx, e)
			return err
		})
	case 7:
		w.attempt(fmt.Sprint("remove ", active.ID), func(ctx context.Context, tx *store.Tx) error {
			_, _, err := exceptions.Remove(ctx, tx, active.ID)
			return err
		})
	case 8, 9:
		w.document(p)
	case 10:
		w.decide(f)
	case 11:
		w.clock.Advance(time.Duration(w.IntN(30)) * time.Hour)
		w.attempt("time passes", func(context.Context, *store.Tx) error { return nil })
	}
}

func (w *world) approve(e model.Exception, end time.Time) {
	before := w.triages()
	w.attempt(fmt.Sprint("approve ", e.ID, e.Lineages), func(ctx context.Context, tx *store.Tx) (err error) {
		if e.Document != nil {
			_, err = exceptions.AcceptVEX(ctx, tx, e.ID)
		} else {
			_, _, err = exceptions.Approve(ctx, tx, e.ID, end, "")
		}
		return err
	})
	for lineage, now := range w.triages() {
		if now.By != before[lineage].By && now.Automatic {
			delete(w.users, lineage) // it replaced the decision of a user
		}
	}
}

// undo reverts an approval, which restores the previous triage of its findings.
func (w *world) undo(e model.Exception) {
	before := w.triages()
	w.attempt(fmt.Sprint("undo ", e.ID), func(ctx context.Context, tx *store.Tx) error {
		_, _, err := exceptions.Undo(ctx, tx, e.ID)
		return err
	})
	for lineage, now := range w.triages() {
		if before[lineage].Automatic && now.DecidedByPerson() {
			w.users[lineage] = now
		}
	}
}

// document adds a VEX document of a triager or a proposal of an upload.
func (w *world) document(p model.Project) {
	d := vexOf(fmt.Sprint("urn:", w.IntN(2)), []model.VEXStatus{model.VEXNotAffected, model.VEXAffected}[w.IntN(2)], fmt.Sprint(1+w.IntN(3)))
	d.ProjectID, d.Proposed = p.ID, w.IntN(2) == 0
	if w.IntN(5) == 0 {
		d.Statements = nil
	}
	before := w.triages()
	w.attempt(fmt.Sprint("document ", d.Name, " proposed ", d.Proposed, d.Statements), func(ctx context.Context, tx *store.Tx) error {
		_, err := exceptions.PutVEX(ctx, tx, d)
		return err
	})
	if now := w.triages(); d.Proposed && fmt.Sprint(now) != fmt.Sprint(before) {
		w.fail("an upload alone decided")
	}
}

// decide triages a finding as a user.
func (w *world) decide(f model.FindingWrite) {
	state := []model.TriageState{model.TriageIgnored, model.TriageFixing, model.TriageReopened}[w.IntN(3)]
	before := w.triages()[f.LineageID]
	w.attempt(fmt.Sprint("set ", f.LineageID, " to ", state), func(ctx context.Context, tx *store.Tx) error {
		after := model.Triage{State: state, At: tx.Now(), By: tx.Actor()}
		return tx.UpdateTriage(ctx, []model.TriageEvent{{LineageID: f.LineageID, At: tx.Now(), By: tx.Actor(), Before: before, After: after}})
	})
	w.users[f.LineageID] = w.triages()[f.LineageID]
}

func (w *world) triages() map[int64]model.Triage {
	out := map[int64]model.Triage{}
	for _, f := range w.found {
		out[f.LineageID] = w.triageOf(f.LineageID)
	}
	return out
}

// checkTriage fails the test unless each finding is ignored exactly when expected, and its trail leads to
// its state.
func (w *world) checkTriage() {
	w.t.Helper()
	for _, f := range w.found {
		now := w.triageOf(f.LineageID)
		user, decided := w.users[f.LineageID]
		want := decided && user.State == model.TriageIgnored || !decided && w.covered(f)
		if ignored := now.State == model.TriageIgnored; ignored != want {
			w.fail(fmt.Sprintf("finding of lineage %d is ignored: %t (%+v), want %t", f.LineageID, ignored, now, want))
		}
		w.view(func(ctx context.Context, tx *store.Tx) error {
			trail, err := tx.TriageTrail(ctx, f.LineageID)
			for i, e := range trail {
				if i > 0 && e.Before != trail[i-1].After {
					w.fail(fmt.Sprintf("the trail of %d jumps from %+v to %+v", f.LineageID, trail[i-1].After, e.Before))
				}
			}
			if len(trail) > 0 && trail[len(trail)-1].After != now {
				w.fail(fmt.Sprintf("the trail of %d ends with %+v, and it is %+v", f.LineageID, trail[len(trail)-1].After, now))
			}
			return err
		})
	}
}

// covered reports whether an active exception covers a finding, by the rules in
// docs/guides/exceptions.md.
func (w *world) covered(f model.FindingWrite) (covered bool) {
	w.view(func(ctx context.Context, tx *store.Tx) error {
		list, _, err := tx.ExceptionPage(ctx, store.ExceptionQuery{State: model.ExceptionActive, Limit: 1000})
		stated, hides, newest := false, true, time.Time{}
		for _, e := range list {
			vulnerable := f.Subject != nil
			switch {
			case e.OfFindings():
				covered = covered || slices.Contains(e.Lineages, f.LineageID)
			case e.Document == nil:
				about := e.Target == f.RuleName || vulnerable && e.Target == "CVE-2021-44228"
				covered = covered || about && (len(e.Paths) == 0 || slices.Contains(e.Paths, f.Path))
			case vulnerable:
				d, err := tx.VEXDocument(ctx, e.ID)
				if err != nil {
					return err
				}
				for _, s := range d.Statements {
					if s.Packages[0].Version == f.Subject.Version && !d.ReceivedAt.Before(newest) {
						stated, hides, newest = true, s.Status == model.VEXNotAffected, d.ReceivedAt
					}
				}
			}
		}
		covered = covered || stated && hides
		return err
	})
	return covered
}

// endAll ends all exceptions and documents, so that the next sequence starts without any.
func (w *world) endAll() {
	w.update(func(ctx context.Context, tx *store.Tx) error {
		list, _, err := tx.ExceptionPage(ctx, store.ExceptionQuery{State: model.ExceptionActive, Limit: 1000})
		for _, e := range list {
			if _, _, err := exceptions.Remove(ctx, tx, e.ID); err != nil {
				return err
			}
		}
		return err
	})
}
