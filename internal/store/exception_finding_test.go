package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// wish requests an exception for findings, as a user.
func (d tenant) wish(askerID int64, of ...model.FindingWrite) (r model.Exception, err error) {
	d.t.Helper()
	findings := d.written(of)
	err = d.s.Update(d.t.Context(), d.id, storetest.Actor, func(ctx context.Context, tx *store.Tx) (err error) {
		r, err = exceptions.Request(ctx, tx, model.Exception{Reason: "only tests", TriageReason: model.AcceptableRisk, CreatorID: askerID}, findings)
		return err
	})
	return r, err
}

func (d tenant) wishes(askerID int64, of ...model.FindingWrite) model.Exception {
	d.t.Helper()
	r, err := d.wish(askerID, of...)
	d.check(err)
	return r
}

// request reads an exception and checks the deployment's count of open requests.
func (d tenant) request(id int64) (r model.Exception) {
	d.t.Helper()
	d.view(func(ctx context.Context, tx *store.Tx) (err error) {
		if r, err = tx.Exception(ctx, id); err != nil {
			return err
		}
		open, err := tx.CountExceptions(ctx, store.ExceptionQuery{State: model.ExceptionRequested})
		if n := tx.Deployment().OpenRequests; n != open {
			d.t.Errorf("the deployment says that %d requests are open, and %d are", n, open)
		}
		return err
	})
	if faults := d.rowFaults(); faults != "" {
		d.t.Errorf("rows that do not fit: %s", faults)
	}
	return r
}

// decideOn sets the triage state of lineages, as a user.
func (d tenant) decideOn(state model.TriageState, of ...model.FindingWrite) {
	d.t.Helper()
	d.update(func(ctx context.Context, tx *store.Tx) error {
		var events []model.TriageEvent
		for _, f := range of {
			events = append(events, model.TriageEvent{
				LineageID: f.LineageID, At: tx.Now(), By: tx.Actor(), Before: model.Triage{State: model.TriageUntriaged}, After: model.Triage{State: state, At: tx.Now(), By: tx.Actor()},
			})
		}
		return tx.UpdateTriage(ctx, events)
	})
}

// setFindingState sets the state of findings, as scans do.
func (d tenant) setFindingState(state model.State, of ...model.FindingWrite) {
	d.t.Helper()
	d.update(func(ctx context.Context, tx *store.Tx) error {
		after := slices.Clone(of)
		for i := range after {
			after[i].State = state
		}
		return tx.UpdateFindings(ctx, after)
	})
}

// TestExceptionRequests checks that requests wait for a decision, and that a finding has at most
// one open request.
func TestExceptionRequests(t *testing.T) {
	eachTimed(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		d := newTenant(t, s)
		p, other := d.project("acme/app"), d.project("acme/other")
		f := d.findings(p, 6, nil)
		foreign := d.findings(other, 1, nil)
		first := d.wishes(7, f[0], f[1])
		second := d.wishes(8, f[2])
		d.decideOn(model.TriageIgnored, f[5])

		refused := func(what string, want error, of ...model.FindingWrite) {
			t.Helper()
			_, err := d.wish(9, of...)
			_, invalid := errors.AsType[*model.InvalidError](err)
			if want == nil && !invalid || want != nil && !errors.Is(err, want) {
				t.Errorf("%s: %v", what, err)
			}
		}
		refused("asked already, beside another", model.ErrConflict, f[3], f[1])
		refused("findings of two projects", nil, f[3], foreign[0])
		refused("one that is ignored", nil, f[3], f[5])
		refused("none", nil)

		var changed exceptions.Effect
		until := clock.Now().AddDate(0, 0, 30)
		d.update(func(ctx context.Context, tx *store.Tx) (err error) {
			_, changed, err = exceptions.Approve(ctx, tx, first.ID, until, "until the upgrade")
			return err
		})
		got := d.request(first.ID)
		if len(changed) != 2 || got.State != model.ExceptionActive || !got.Until.Equal(until) || got.Answer != "until the upgrade" || got.DecidedAt.IsZero() || got.DecidedBy != storetest.Actor {
			t.Errorf("approved with %d changes: %+v", len(changed), got)
		}
		if now := d.triageOf(f[0].LineageID); now.State != model.TriageIgnored || now.Reason != model.AcceptableRisk || now.By != first.Actor() || now.Comment != "until the upgrade" {
			t.Errorf("the approved exception is %+v", now)
		}
		conflicts := func(what string, decide func(ctx context.Context, tx *store.Tx) error) {
			t.Helper()
			if err := s.Update(t.Context(), d.id, storetest.Actor, decide); !errors.Is(err, model.ErrConflict) {
				t.Errorf("%s once more: %v", what, err)
			}
		}
		conflicts("approve", func(ctx context.Context, tx *store.Tx) error {
			_, _, err := exceptions.Approve(ctx, tx, first.ID, time.Time{}, "")
			return err
		})
		conflicts("refuse", func(ctx context.Context, tx *store.Tx) error {
			_, err := exceptions.Refuse(ctx, tx, first.ID, "no")
			return err
		})
		err := s.Update(t.Context(), d.id, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			_, err := exceptions.Refuse(ctx, tx, second.ID, " \n")
			return err
		})
		if _, invalid := errors.AsType[*model.InvalidError](err); !invalid {
			t.Errorf("refused without a reason: %v", err)
		}
		err = s.Update(t.Context(), d.id, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			_, err := exceptions.Withdraw(ctx, tx, second.ID, 7)
			return err
		})
		if _, invalid := errors.AsType[*model.InvalidError](err); !invalid {
			t.Errorf("withdrawn by another user: %v", err)
		}
		d.update(func(ctx context.Context, tx *store.Tx) error {
			_, err := exceptions.Withdraw(ctx, tx, second.ID, 8)
			return err
		})
		third := d.wishes(8, f[2], f[3]) // after a withdrawal a new request is allowed
		d.update(func(ctx context.Context, tx *store.Tx) error {
			_, err := exceptions.Refuse(ctx, tx, third.ID, "it is reachable")
			return err
		})
		var states []string
		d.view(func(ctx context.Context, tx *store.Tx) error {
			list, more, err := tx.ExceptionPage(ctx, store.ExceptionQuery{Limit: 3})
			for _, r := range list {
				states = append(states, r.State.String())
			}
			if more {
				t.Error("there are more")
			}
			return err
		})
		if want := []string{"refused", "withdrawn", "active"}; !slices.Equal(states, want) {
			t.Errorf("the list is %q, not %q", states, want)
		}
		clock.Advance(31 * 24 * time.Hour)
		d.update(func(ctx context.Context, tx *store.Tx) error {
			n, err := follow(ctx, tx)
			if n != 2 {
				t.Errorf("%d findings are open again", n)
			}
			return err
		})
		d.wishes(7, f[0]) // after the exception ended a new request is allowed
		if n := d.request(first.ID); n.State != model.ExceptionEnded {
			t.Errorf("the granted exception is %v", n.State)
		}
	})
}

// TestExceptionRequestEndsWithItsFindings checks that a request ends in the commit that closes its
// last open finding, for any reason.
func TestExceptionRequestEndsWithItsFindings(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		for what, end := range map[string]func(d tenant, p model.Project, f model.FindingWrite){
			"fixed":   func(d tenant, _ model.Project, f model.FindingWrite) { d.setFindingState(model.Fixed, f) },
			"removed": func(d tenant, _ model.Project, f model.FindingWrite) { d.setFindingState(model.StateRemoved, f) },
			"muted":   func(d tenant, _ model.Project, f model.FindingWrite) { d.setFindingState(model.Muted, f) },
			"ignored": func(d tenant, _ model.Project, f model.FindingWrite) { d.decideOn(model.TriageIgnored, f) },
		} {
			p := d.project("acme/" + what)
			f := d.findings(p, 3, nil)
			both, alone := d.wishes(1, f[0], f[1]), d.wishes(1, f[2])
			end(d, p, f[0])
			if r := d.request(both.ID); r.State != model.ExceptionRequested {
				t.Errorf("%s, and the other is open: %+v", what, r)
			}
			end(d, p, f[1])
			if r := d.request(both.ID); r.State != model.ExceptionEnded || r.Answer == "" {
				t.Errorf("%s: %+v", what, r)
			}
			if r := d.request(alone.ID); r.State != model.ExceptionRequested {
				t.Errorf("%s, which is about another finding: %+v", what, r)
			}
			d.update(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteProject(ctx, p.ID) })
			d.view(func(ctx context.Context, tx *store.Tx) error {
				n, err := tx.CountExceptions(ctx, store.ExceptionQuery{})
				if n != 0 || tx.Deployment().OpenRequests != 0 {
					t.Errorf("without the project there are %d, %d of them open", n, tx.Deployment().OpenRequests)
				}
				return err
			})
		}
	})
}

// TestExceptionRequestsAreBounded checks the limits of open requests per user and of stored past
// exceptions.
func TestExceptionRequestsAreBounded(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		f := d.findings(d.project("acme/app"), model.MaxOpenRequestsOfOne+1, nil)
		for i := range model.MaxOpenRequestsOfOne {
			d.wishes(1, f[i])
		}
		last := f[len(f)-1]
		if _, err := d.wish(1, last); !errors.Is(err, model.ErrConflict) {
			t.Errorf("one too many: %v", err)
		}
		d.request(d.wishes(2, last).ID)
	})
}

// TestExceptionRequestLimitPerHostAccount checks that requesters who are not users have separate limits by
// account at the host. Renames and the place of the reply must not matter.
func TestExceptionRequestLimitPerHostAccount(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		f := d.findings(d.project("acme/app"), model.MaxOpenRequestsOfOne+2, nil)
		request := func(by model.Actor, of model.FindingWrite) error {
			findings := d.written([]model.FindingWrite{of})
			return s.Update(t.Context(), d.id, by, func(ctx context.Context, tx *store.Tx) error {
				_, err := exceptions.Request(ctx, tx, model.Exception{Reason: "only tests", TriageReason: model.AcceptableRisk}, findings)
				return err
			})
		}
		for i := range model.MaxOpenRequestsOfOne {
			d.check(request(model.Actor{Kind: "collaborator", ID: "1:7", Name: "bob at git.example", Via: fmt.Sprint("acme/app#", i)}, f[i]))
		}
		if err := request(model.Actor{Kind: "collaborator", ID: "1:7", Name: "robert at git.example"}, f[len(f)-1]); !errors.Is(err, model.ErrConflict) {
			t.Errorf("one too many: %v", err)
		}
		d.check(request(model.Actor{Kind: "collaborator", ID: "1:8", Name: "bob at git.example"}, f[len(f)-1]))
		d.check(request(model.Actor{Kind: "token", ID: "1:7"}, f[len(f)-2]))
	})
}

// TestRepeatedExceptionRequestsAreLimited checks that repeated requests and withdrawals are limited per user.
func TestRepeatedExceptionRequestsAreLimited(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		f := d.findings(d.project("acme/app"), 1, nil)[0]
		for range model.MaxOpenRequestsOfOne {
			r := d.wishes(1, f)
			d.update(func(ctx context.Context, tx *store.Tx) error {
				_, err := exceptions.Withdraw(ctx, tx, r.ID, 1)
				return err
			})
		}
		if _, err := d.wish(1, f); !errors.Is(err, model.ErrConflict) {
			t.Errorf("one too many: %v", err)
		}
		d.request(d.wishes(2, f).ID)
	})
}

// TestMergedFindingsOccurOnceInRequest checks that merged findings occur once in a request, which
// still ends with them.
func TestMergedFindingsOccurOnceInRequest(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		f := d.findings(d.project("acme/app"), 3, nil)
		r := d.wishes(1, f[0], f[1], f[2])
		d.update(func(ctx context.Context, tx *store.Tx) error {
			list, err := tx.Lineages(ctx, []int64{f[0].LineageID})
			if err != nil {
				return err
			}
			return tx.MergeLineages(ctx, []model.LineageMerge{{Into: list[f[0].LineageID], From: []int64{f[1].LineageID}}})
		})
		if got := d.request(r.ID).Lineages; !slices.Equal(got, []int64{f[0].LineageID, f[2].LineageID}) {
			t.Errorf("it is about %v", got)
		}
		d.decideOn(model.TriageIgnored, f[0], f[2])
		if got := d.request(r.ID); got.State != model.ExceptionEnded {
			t.Errorf("it is %s", got.State)
		}
	})
}

// TestUndoneApprovalWithAnotherOpenRequest checks that a finding never has two open requests.
func TestUndoneApprovalWithAnotherOpenRequest(t *testing.T) {
	eachTimed(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		d := newTenant(t, s)
		f := d.findings(d.project("acme/app"), 3, nil)
		undone, alone := d.wishes(7, f[0], f[1]), d.wishes(7, f[2])
		d.update(func(ctx context.Context, tx *store.Tx) error {
			for _, r := range []model.Exception{undone, alone} {
				if _, _, err := exceptions.Approve(ctx, tx, r.ID, time.Time{}, "fine"); err != nil {
					return err
				}
			}
			return nil
		})
		clock.Advance(time.Minute)
		d.decideOn(model.TriageReopened, f...)
		other := d.wishes(8, f[1])
		d.update(func(ctx context.Context, tx *store.Tx) error {
			for _, r := range []model.Exception{undone, alone} {
				if _, _, err := exceptions.Undo(ctx, tx, r.ID); err != nil {
					return err
				}
			}
			return nil
		})
		for id, want := range map[int64]model.ExceptionState{undone.ID: model.ExceptionEnded, alone.ID: model.ExceptionRequested, other.ID: model.ExceptionRequested} {
			if got := d.request(id); got.State != want {
				t.Errorf("request %d is %s, want %s", id, got.State, want)
			}
		}
	})
}
