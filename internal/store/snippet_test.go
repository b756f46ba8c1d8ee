package store_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// scanned adds an applied scan of a branch.
func (d tenant) scanned(p model.Project, ref string, full bool) (s model.Scan) {
	d.t.Helper()
	d.update(func(ctx context.Context, tx *store.Tx) (err error) {
		s = model.Scan{
			ProjectID: p.ID, Ref: "refs/heads/" + ref, Commit: "c1", Source: "semgrep", StartedAt: tx.Now(), CompletedAt: tx.Now(), Full: full,
			Status: model.ScanCompleted, Outcome: model.ScanApplied, TotalTime: -1,
		}
		if s.ID, err = tx.AddScan(ctx, s); err != nil {
			return err
		}
		return tx.PutScanAccount(ctx, model.ScanAccount{ScanID: s.ID})
	})
	return s
}

// snippeted returns the findings with stored code.
func (d tenant) snippeted(of []model.FindingWrite) (ids []int64) {
	d.t.Helper()
	d.view(func(ctx context.Context, tx *store.Tx) error {
		for _, w := range of {
			_, err := tx.Snippet(ctx, w.ID)
			if err == nil {
				ids = append(ids, w.ID)
			} else if !errors.Is(err, model.ErrNotFound) {
				return err
			}
		}
		return nil
	})
	return ids
}

// withCode stores a snippet for each finding.
func (d tenant) withCode(s model.Scan, of []model.FindingWrite) {
	d.t.Helper()
	var list []model.Snippet
	for _, w := range of {
		list = append(list, model.Snippet{FindingID: w.ID, ScanID: s.ID, Commit: s.Commit, Path: w.Path, Line: w.Line, EndLine: w.Line, First: w.Line, Lines: []string{"x", "", "y"}})
	}
	d.update(func(ctx context.Context, tx *store.Tx) error { return tx.PutSnippets(ctx, list) })
}

func TestSnippetPlaces(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p := d.project("acme/payments")
		full := d.scanned(p, "main", true)
		writes := d.findings(p, 8, func(i int, w *model.FindingWrite) {
			w.Body = []byte(`"location":{"line":1,"endLine":9,"column":4},"rule_message":"m"`)
			switch i {
			case 1:
				w.State = model.Muted
			case 2:
				w.State = model.Fixed
			case 3:
				w.Source = "gitleaks"
			case 4:
				w.Line = 0
			case 5:
				w.Historical = true
			case 6:
				w.SeenByFull, w.Severity = true, model.SeverityCritical
			case 7:
				w.Ref = "refs/heads/topic"
			}
		})
		want := []store.SnippetLocation{}
		for _, i := range []int{6, 1, 0} { // worst first, then newest
			w := writes[i]
			want = append(want, store.SnippetLocation{SnippetLocation: model.SnippetLocation{FindingID: w.ID, Path: w.Path, Line: w.Line, EndLine: 9, Column: 4}, RuleID: w.RuleID, Message: "m"})
		}
		check := func(what string, scan model.Scan, ids []int64, limit int, want []store.SnippetLocation, wantMore bool) {
			t.Helper()
			d.view(func(ctx context.Context, tx *store.Tx) error {
				got, more, err := tx.SnippetLocations(ctx, scan, ids, limit)
				if len(want)+len(got) > 0 {
					same(t, what, got, want)
				}
				same(t, what+", more", more, wantMore)
				return err
			})
		}
		check("all", full, nil, 10, want, false)
		check("some", full, nil, 2, want[:2], true)
		check("by id", full, []int64{writes[0].ID, writes[3].ID, 4_000_000}, 10, want[2:], false)
		diff := d.scanned(p, "main", false)
		check("of a change", diff, nil, 10, want[1:], false)
		check("of a scan that others followed", full, nil, 10, nil, false)
	})
}

// TestSnippetLifecycle checks when snippets are stored, replaced and deleted.
func TestSnippetLifecycle(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p := d.project("acme/payments")
		scan := d.scanned(p, "main", true)
		d.scanned(p, "topic", true)
		writes := d.findings(p, 6, func(i int, w *model.FindingWrite) {
			if i == 5 {
				w.Ref = "refs/heads/topic"
			}
		})
		d.withCode(scan, writes)
		d.withCode(scan, writes) // replaces the existing ones
		d.view(func(ctx context.Context, tx *store.Tx) error {
			got, err := tx.Snippet(ctx, writes[1].ID)
			same(t, "the code", got, model.Snippet{FindingID: writes[1].ID, ScanID: scan.ID, Commit: "c1", Path: "src/1.go", Line: 2, EndLine: 2, First: 2, Lines: []string{"x", "", "y"}})
			return err
		})
		left := func(what string, want ...int) {
			t.Helper()
			var ids []int64
			for _, i := range want {
				ids = append(ids, writes[i].ID)
			}
			if got := d.snippeted(writes); !slices.Equal(got, ids) {
				t.Errorf("%s: there is code of %v, want %v", what, got, ids)
			}
		}
		left("all", 0, 1, 2, 3, 4, 5)
		fixed := writes[0]
		fixed.State, fixed.Body = model.Fixed, nil
		moved := writes[1]
		moved.Path, moved.Body = "elsewhere.go", nil
		d.update(func(ctx context.Context, tx *store.Tx) error {
			return tx.UpdateFindings(ctx, []model.FindingWrite{fixed, moved})
		})
		left("one is fixed, one has moved", 1, 2, 3, 4, 5)
		added := d.findings(p, 1, func(_ int, w *model.FindingWrite) { w.IssueType, w.Path, w.Line = model.Secrets, "src/2.go", 40 })
		left("a secret came to a file", 1, 3, 4, 5)
		added[0].Path, added[0].Body = "src/1.go", nil
		d.update(func(ctx context.Context, tx *store.Tx) error { return tx.UpdateFindings(ctx, added) })
		left("a secret that was known moved to a file", 3, 4, 5)
		secret := writes[3]
		secret.IssueType = model.Secrets
		d.update(func(ctx context.Context, tx *store.Tx) error {
			return tx.ConcealFindings(ctx, []model.FindingWrite{secret})
		})
		left("one is a secret after all", 4, 5)
		d.update(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteRef(ctx, p.ID, "refs/heads/topic") })
		left("a branch is gone", 4)
		d.update(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteProject(ctx, p.ID) })
		left("the project is gone")
	})
}

func TestStaleSnippetsAreDropped(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p := d.project("acme/payments")
		scan := d.scanned(p, "main", true)
		writes := d.findings(p, 2, func(i int, w *model.FindingWrite) { w.State = []model.State{model.Unresolved, model.Fixed}[i] })
		d.withCode(scan, writes)
		for _, want := range []int64{1, 0} {
			if n, err := s.DropStaleSnippets(t.Context(), d.id, storetest.Actor); err != nil || n != want {
				t.Errorf("dropped %d, %v, want %d", n, err, want)
			}
		}
		same(t, "left", d.snippeted(writes), []int64{writes[0].ID})
	})
}

// TestDisablingSnippetsDeletesThem checks that disabling deletes all snippets, prevents new ones and adds an audit
// event. The other tenant must be unaffected.
func TestDisablingSnippetsDeletesThem(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		n := d.noise()
		var writes [2][]model.FindingWrite
		for i, tenant := range []tenant{d, n} {
			p := tenant.project("acme/code")
			writes[i] = tenant.findings(p, 2, func(i int, w *model.FindingWrite) { w.Identity.Hash[9] = 9 })
			tenant.withCode(tenant.scanned(p, "main", true), writes[i])
		}
		d.update(func(ctx context.Context, tx *store.Tx) error {
			dropped, err := tx.SetCodeStorage(ctx, false)
			same(t, "dropped", dropped, int64(2))
			return err
		})
		if got := d.snippeted(writes[0]); len(got) != 0 {
			t.Errorf("there is code of %v", got)
		}
		same(t, "of the other tenant", len(n.snippeted(writes[1])), 2)
		err := s.Update(t.Context(), d.id, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			return tx.PutSnippets(ctx, []model.Snippet{{FindingID: writes[0][0].ID, Lines: []string{"x"}}})
		})
		if err == nil {
			t.Error("code is taken that is not to be kept")
		}
		d.update(func(ctx context.Context, tx *store.Tx) error { _, err := tx.SetCodeStorage(ctx, true); return err })
		d.view(func(ctx context.Context, tx *store.Tx) error {
			trail, err := tx.AuditEvents(ctx, 0, 1000)
			var after []string
			for _, e := range trail {
				if e.Action == "deployment.update" {
					after = append(after, e.After)
				}
			}
			same(t, "the trail", after, []string{`{"keeps_code":false,"snippets_dropped":2}`, `{"keeps_code":true}`})
			return err
		})
	})
}
