package store_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// vexStatement returns a statement about a version of the npm package p.
func vexStatement(version string, status model.VEXStatus) model.VEXStatement {
	return vexOf("", status, version).Statements[0]
}

// proposal returns a document of a project as proposed by an upload token.
func proposal(p model.Project, name string, list ...model.VEXStatement) model.VEXDocument {
	return model.VEXDocument{Name: name, Format: "OpenVEX", ProjectID: p.ID, Proposed: true, Statements: list}
}

// proposals returns the proposed documents, oldest first.
func (d tenant) proposals() []model.Exception {
	d.t.Helper()
	var list []model.Exception
	d.view(func(ctx context.Context, tx *store.Tx) (err error) {
		list, _, err = tx.ExceptionPage(ctx, store.ExceptionQuery{State: model.ExceptionRequested, Kind: model.ExceptionOfDocument, Limit: 10_000})
		slices.Reverse(list)
		return err
	})
	return list
}

func (d tenant) review(id int64) (r exceptions.Review) {
	d.t.Helper()
	d.view(func(ctx context.Context, tx *store.Tx) error {
		doc, err := tx.VEXDocument(ctx, id)
		d.check(err)
		r, err = exceptions.ReviewVEX(ctx, tx, doc, doc.Statements)
		return err
	})
	return r
}

func (d tenant) accept(id int64, statements ...string) (r model.VEXReceipt) {
	d.t.Helper()
	d.update(func(ctx context.Context, tx *store.Tx) (err error) {
		r, err = exceptions.AcceptVEX(ctx, tx, id, statements...)
		return err
	})
	return r
}

func (d tenant) refuse(id int64, statements ...string) (n int) {
	d.t.Helper()
	d.update(func(ctx context.Context, tx *store.Tx) (err error) {
		n, err = exceptions.RefuseVEX(ctx, tx, id, "", statements...)
		return err
	})
	return n
}

// TestProposalsOfAProjectAreBounded checks that a proposal above the limit deletes the oldest of
// its project, regardless of the version. Proposals of other projects must stay.
func TestProposalsOfAProjectAreBounded(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p, other := d.project("acme/payments"), d.project("acme/shop")
		foreign := d.putVEX(proposal(other, "urn:theirs", vexStatement("", model.VEXFixed)))
		first := proposal(p, "urn:0", vexStatement("", model.VEXFixed))
		first.Version = 1 << 60
		d.putVEX(first)
		d.update(func(ctx context.Context, tx *store.Tx) error {
			for i := 1; i < model.MaxVEXProposals; i++ {
				r, err := exceptions.PutVEX(ctx, tx, proposal(p, fmt.Sprint("urn:", i), vexStatement(fmt.Sprint(i), model.VEXFixed)))
				if err != nil || len(r.Dropped) != 0 {
					return fmt.Errorf("%+v, %w", r, err)
				}
			}
			return nil
		})
		same(t, "as many as there may be", len(d.proposals()), model.MaxVEXProposals+1)
		r := d.putVEX(proposal(p, "urn:late", vexStatement("9", model.VEXFixed)))
		same(t, "one more", []any{r.Outcome, len(r.Dropped)}, []any{model.VEXProposed, 1})
		list := d.proposals()
		same(t, "then", []any{len(list), list[0].ID, list[1].Target, list[len(list)-1].Target},
			[]any{model.MaxVEXProposals + 1, foreign.Document.ID, "urn:1", "urn:late"})

		many := make([]model.VEXStatement, model.MaxVEXProposedStatements)
		for i := range many {
			many[i] = model.VEXStatement{Names: []string{"CVE-1"}, Status: model.VEXFixed, Detail: fmt.Sprint(i)}
		}
		d.update(func(ctx context.Context, tx *store.Tx) error {
			_, err := exceptions.PutVEX(ctx, tx, proposal(p, "urn:large", slices.Concat(many, many[:1])...))
			invalid(t, "more statements than may be proposed", err, "vex")
			return nil
		})
		r = d.putVEX(proposal(p, "urn:large", many...))
		same(t, "as many statements as there may be", []any{r.Outcome, len(r.Dropped)}, []any{model.VEXProposed, model.MaxVEXProposals})
		same(t, "alone", len(d.proposals()), 2)
	})
}

// TestLaterProposalsReplaceEarlierOnes checks that a later proposal replaces an earlier one regardless of
// versions. A changed content must get a new id.
func TestLaterProposalsReplaceEarlierOnes(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p := d.project("acme/payments")
		high := proposal(p, "urn:a", vexStatement("1", model.VEXFixed))
		high.Version, high.IssuedAt = 1<<60, storetest.Epoch.AddDate(900, 0, 0)
		was := d.putVEX(high)
		later := proposal(p, "urn:a", vexStatement("1", model.VEXNotAffected))
		later.Version = 2
		is := d.putVEX(later)
		same(t, "outcome", is.Outcome, model.VEXProposed)
		if list := d.proposals(); len(list) != 1 || list[0].ID == was.Document.ID || list[0].ID != is.Document.ID || list[0].Document.Version != 2 {
			t.Errorf("after %d: %+v", was.Document.ID, list)
		}
		d.silently("the same again", func(ctx context.Context, tx *store.Tx) error {
			_, err := exceptions.PutVEX(ctx, tx, later)
			return err
		})
		later.Version = 3
		d.putVEX(later)
		same(t, "the same of a newer version", []any{d.proposals()[0].ID, d.proposals()[0].Document.Version}, []any{is.Document.ID, int64(3)})
		d.accept(is.Document.ID)
		later.Version = 1
		same(t, "older than what counts", d.putVEX(later).Outcome, model.VEXOlder)
		later.Statements = nil
		later.Version = 4
		same(t, "one that says nothing", d.putVEX(later).Outcome, model.VEXSame)
	})
}

// TestProposalStatementsAreDecidedIndividually checks that accepting one statement has exactly the predicted
// effect. Accepted and refused statements must not be proposed again, and a decided document is no
// longer a proposal.
func TestProposalStatementsAreDecidedIndividually(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p := d.project("acme/payments")
		w := d.vulnerable(p, 3)
		one, two, three := vexStatement("1", model.VEXNotAffected), vexStatement("2", model.VEXFixed), vexStatement("3", model.VEXUnderInvestigation)
		sent := proposal(p, "urn:a", one, two, three)
		id := d.putVEX(sent).Document.ID
		review := d.review(id)
		same(t, "what it would change", []any{review.Changes, review.Alone, review.Withdraws}, []any{3, map[string]int{one.ID(): 1, two.ID(): 1, three.ID(): 1}, 0})
		same(t, "nothing yet", d.states(w), []string{"untriaged", "untriaged", "untriaged"})

		same(t, "changed by one", d.accept(id, one.ID()).Changed, 1)
		same(t, "states", d.states(w), []string{"ignored", "untriaged", "untriaged"})
		review = d.review(id)
		same(t, "remaining", []any{review.Changes, review.Counts[one.ID()], review.Counts[two.ID()]}, []any{2, true, false})
		same(t, "refused", d.refuse(id, two.ID()), 1)
		same(t, "left of it", d.proposals()[0].Statements, 2)
		d.update(func(ctx context.Context, tx *store.Tx) error {
			_, err := exceptions.AcceptVEX(ctx, tx, id, two.ID())
			invalid(t, "refused statements", err, "statements")
			_, err = exceptions.RefuseVEX(ctx, tx, id, "", one.ID())
			invalid(t, "what counts", err, "statements")
			return nil
		})
		d.accept(id, three.ID())
		same(t, "states", d.states(w), []string{"ignored", "untriaged", "reviewing"})
		same(t, "left", len(d.proposals()), 0)

		same(t, "sent again", d.putVEX(sent).Outcome, model.VEXSame)
		branch := sent
		branch.Ref = "refs/heads/topic"
		same(t, "by a branch", d.putVEX(branch).Outcome, model.VEXSame)
		repeated := proposal(p, "urn:b", two)
		same(t, "a statement refused in another document", d.putVEX(repeated).Outcome, model.VEXRefused)
		list := events(t, s, model.Deployment{ID: d.id})
		var actions []string
		for _, e := range list[len(list)-6:] {
			actions = append(actions, e.Action)
		}
		same(t, "audit", actions, []string{"vex.create", "vex.create", "vex.refuse", "vex.update", "vex.update", "vex.delete"})
	})
}

// TestAcceptedProposalReplacesActiveDocument checks that an accepted proposal replaces the active
// document and that its review lists the ended statements. A refused one must not be proposed again
// unless it changes.
func TestAcceptedProposalReplacesActiveDocument(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p := d.project("acme/payments")
		w := d.vulnerable(p, 2)
		one, two := vexStatement("1", model.VEXNotAffected), vexStatement("2", model.VEXFixed)
		counts := proposal(p, "urn:a", one, two)
		counts.Proposed, counts.Version = false, 1
		d.putVEX(counts)
		less := proposal(p, "urn:a", one)
		less.Version = 2
		id := d.putVEX(less).Document.ID
		review := d.review(id)
		same(t, "what it would change", []any{review.Changes, review.Withdraws, review.Alone[one.ID()]}, []any{1, 1, 0})
		same(t, "refused statements", d.refuse(id), 0)
		same(t, "sent again", d.putVEX(less).Outcome, model.VEXRefused)
		other := less
		other.Statements = []model.VEXStatement{vexStatement("1", model.VEXAffected)}
		id = d.putVEX(other).Document.ID
		same(t, "it would change", d.review(id), exceptions.Review{
			Changes: 2, Withdraws: 2, Counts: map[string]bool{one.ID(): true, two.ID(): true}, Alone: map[string]int{other.Statements[0].ID(): 1},
		})
		same(t, "it changes", d.accept(id).Changed, 2)
		same(t, "states", d.states(w), []string{"reopened", "reopened"})
	})
}

// TestProposalsOfADeploymentAreBounded checks that above the limit, the project with the most
// proposals loses its oldest.
func TestProposalsOfADeploymentAreBounded(t *testing.T) {
	d := newTenant(t, storetest.Open(t, storetest.Database(t, "sqlite", storetest.NewClock())))
	var most model.Project
	d.update(func(ctx context.Context, tx *store.Tx) (err error) {
		for n := 0; n < model.MaxAllVEXProposals; {
			p, err := tx.CreateProject(ctx, model.Project{Name: fmt.Sprint("acme/", n)})
			if err != nil {
				return err
			}
			count := model.MaxVEXProposals - 1
			if n == count { // the second project has the most
				count, most = count+1, p
			}
			for range min(count, model.MaxAllVEXProposals-n) {
				n++
				doc := proposal(p, fmt.Sprint("urn:", n), vexStatement("", model.VEXFixed))
				doc.ReceivedAt = tx.Now()
				if _, err := tx.SaveVEX(ctx, doc, model.VEXDocument{}); err != nil {
					return err
				}
			}
		}
		return nil
	})
	before := d.proposals()
	fresh := d.project("acme/fresh")
	r := d.putVEX(proposal(fresh, "urn:fresh", vexStatement("", model.VEXFixed)))
	same(t, "of its own project", []any{r.Outcome, len(r.Dropped)}, []any{model.VEXProposed, 0})
	after := d.proposals()
	same(t, "how many", len(after), model.MaxAllVEXProposals)
	left := map[int64]bool{}
	for _, h := range after {
		left[h.ID] = true
	}
	for _, h := range before {
		if !left[h.ID] {
			same(t, "the one that went", []any{h.ProjectID, h.Target}, []any{most.ID, fmt.Sprint("urn:", model.MaxVEXProposals)})
		}
	}
}

// TestProposalsAreBoundedBySize checks the limits by the size of statements, per project and per
// deployment. A proposal that is too large by itself must be rejected without deleting others.
func TestProposalsAreBoundedBySize(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p, other, fresh := d.project("acme/payments"), d.project("acme/shop"), d.project("acme/fresh")
		long := func(n int) model.VEXStatement {
			return model.VEXStatement{Names: []string{"CVE-1"}, Status: model.VEXFixed, Detail: strings.Repeat("x", n)}
		}
		const third = model.MaxVEXProposedBytes / 3
		first := d.putVEX(proposal(p, "urn:1", long(third)))
		d.putVEX(proposal(p, "urn:2", long(third)))
		d.update(func(ctx context.Context, tx *store.Tx) error {
			_, err := exceptions.PutVEX(ctx, tx, proposal(p, "urn:large", long(model.MaxVEXProposedBytes)))
			invalid(t, "more than may be proposed", err, "vex")
			return nil
		})
		same(t, "existing proposals remain", len(d.proposals()), 2)
		r := d.putVEX(proposal(p, "urn:3", long(third)))
		same(t, "the oldest goes", []any{r.Outcome, r.Dropped}, []any{model.VEXProposed, []int64{first.Document.ID}})
		list := d.proposals()
		if size := list[0].Bytes; size < third || size > third+1000 {
			t.Errorf("%d bytes are counted of %d", size, third)
		}

		small := d.putVEX(proposal(other, "urn:theirs", long(1)))
		d.update(func(ctx context.Context, tx *store.Tx) error {
			return store.SetVEXBytes(ctx, tx, model.MaxAllVEXProposedBytes/2, list[0].ID, list[1].ID)
		})
		r = d.putVEX(proposal(fresh, "urn:fresh", long(1)))
		same(t, "of its own project", []any{r.Outcome, len(r.Dropped)}, []any{model.VEXProposed, 0})
		var left []int64
		for _, h := range d.proposals() {
			left = append(left, h.ID)
		}
		same(t, "the oldest of the project that says most went", left, []int64{list[1].ID, small.Document.ID, r.Document.ID})
	})
}
