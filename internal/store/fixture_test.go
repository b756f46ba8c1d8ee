package store_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// tb contains the common methods of testing.TB and rapid.T.
type tb interface {
	Helper()
	Context() context.Context
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// tenant is a deployment under test, and its store.
type tenant struct {
	t  tb
	s  *store.Store
	id int64
}

func newTenant(t testing.TB, s *store.Store) tenant {
	t.Helper()
	return tenant{t, s, storetest.Deployment(t, s).ID}
}

// noise returns the tenant whose rows must never be visible.
func (d tenant) noise() tenant {
	d.t.Helper()
	n, err := d.s.Deployment(d.t.Context(), storetest.Noise)
	d.check(err)
	return tenant{d.t, d.s, n.ID}
}

func (d tenant) check(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// update runs a write that must succeed.
func (d tenant) update(write func(ctx context.Context, tx *store.Tx) error) {
	d.t.Helper()
	d.check(d.s.Update(d.t.Context(), d.id, storetest.Actor, write))
}

// view runs a read that must succeed.
func (d tenant) view(read func(ctx context.Context, tx *store.Tx) error) {
	d.t.Helper()
	d.check(d.s.View(d.t.Context(), d.id, read))
}

func (d tenant) version() int64 {
	d.t.Helper()
	v, err := d.s.Version(d.t.Context(), d.id)
	d.check(err)
	return v
}

// silently runs a write that must not change the version.
func (d tenant) silently(what string, write func(ctx context.Context, tx *store.Tx) error) {
	d.t.Helper()
	before := d.version()
	d.update(write)
	if after := d.version(); after != before {
		d.t.Errorf("%s: the version grew from %d to %d", what, before, after)
	}
}

// project creates a project.
func (d tenant) project(name string) (p model.Project) {
	d.t.Helper()
	d.update(func(ctx context.Context, tx *store.Tx) (err error) {
		p, err = tx.ProjectForScan(ctx, nil, model.Project{Name: name, Tags: []string{}})
		return err
	})
	return p
}

// newFindings creates n findings of a project with rules, lineages and identities in a transaction.
// edit changes the i-th one before it is stored.
func newFindings(ctx context.Context, tx *store.Tx, p model.Project, n int, edit func(i int, w *model.FindingWrite)) ([]model.FindingWrite, error) {
	ids, err := tx.NewFindingIDs(ctx, n)
	if err != nil {
		return nil, err
	}
	lineageIDs, err := tx.NewLineageIDs(ctx, n)
	if err != nil {
		return nil, err
	}
	rules, err := tx.PutRules(ctx, []*model.Rule{{Name: "rule-1", IssueType: model.SAST, Message: "Do not."}})
	if err != nil {
		return nil, err
	}
	writes := make([]model.FindingWrite, n)
	lineages := make([]model.Lineage, n)
	links := make([]model.IdentityLink, n)
	for i := range writes {
		writes[i] = model.FindingWrite{Finding: model.Finding{
			ID: ids[i], IssueType: model.SAST, ProjectID: p.ID, Ref: "refs/heads/main", Source: "semgrep",
			Identity:  model.Identity{Kind: model.IdentityMatchBased, Hash: model.Digest{byte(ids[i]), byte(ids[i] >> 8), byte(ids[i] >> 16)}},
			LineageID: lineageIDs[i], RuleID: rules[0], RuleName: "rule-1", Path: fmt.Sprintf("src/%d.go", i), Line: i + 1,
			CodeHash: model.Digest{1}, PatternHash: model.Digest{2}, Content: model.Digest{3, byte(i)},
			State: model.Unresolved, Severity: model.SeverityHigh, Confidence: model.ConfidenceLow,
			CreatedAt: tx.Now(), RelevantSince: tx.Now(), FirstScanID: 1,
		}, Body: fmt.Appendf(nil, `"location":{"line":%d}`, i), Evidence: []byte(`{"code":"x"}`)}
		if edit != nil {
			edit(i, &writes[i])
		}
		lineages[i] = model.Lineage{ID: lineageIDs[i], ProjectID: p.ID, Triage: model.Triage{State: model.TriageUntriaged}}
		links[i] = model.IdentityLink{Identity: writes[i].Identity, LineageID: lineageIDs[i]}
	}
	if err := tx.AddLineages(ctx, lineages); err != nil {
		return nil, err
	}
	if err := tx.AddIdentities(ctx, p.ID, links); err != nil {
		return nil, err
	}
	return writes, tx.AddFindings(ctx, writes)
}

// findings creates n findings of a project.
func (d tenant) findings(p model.Project, n int, edit func(i int, w *model.FindingWrite)) (writes []model.FindingWrite) {
	d.t.Helper()
	d.update(func(ctx context.Context, tx *store.Tx) (err error) {
		writes, err = newFindings(ctx, tx, p, n, edit)
		return err
	})
	return writes
}
