package conformance

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// blockImported sets a rule that is known from imports to mode block.
func (s *site) blockImported(t *testing.T, name string) {
	t.Helper()
	err := s.store.Update(t.Context(), s.deployment.ID, model.Actor{Kind: "cli"}, func(ctx context.Context, tx *store.Tx) error {
		policies, err := tx.Policies(ctx)
		for _, p := range policies {
			if p.Default && p.Product == model.SAST {
				_, err = tx.SetRuleMode(ctx, p.ID, name, model.ModeBlock)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// gated imports a report and returns the result of the gate.
func (s *site) gated(t *testing.T, query string, body []byte) api.ImportGate {
	t.Helper()
	return read[api.ImportResponse](t, s.importing(t, query, body)).Gate
}

// testImportGate checks that an import is evaluated like a scan. Findings block if they are new
// against the primary branch and not ignored (docs/reference/policies.md).
func testImportGate(t *testing.T, w *world) {
	main, topic := "project=acme/gate&ref=main&full=true", "project=acme/gate&ref=topic&full=true"
	one, two := w.matches(20, 0, 1), w.matches(20, 0, 2)
	if got := w.gated(t, main, semgrepReport(one...)); got.Blocked || got.Blocking == nil {
		t.Errorf("no rule blocks: %+v", got)
	}
	w.gated(t, "project=acme/gate-other&ref=main&full=true", semgrepReport(two...))
	for _, m := range two {
		w.blockImported(t, m.rule.name)
	}
	if got := w.gated(t, topic, semgrepReport(one...)); got.Blocked {
		t.Errorf("a branch with what main has: %+v", got)
	}
	got := w.gated(t, topic, semgrepReport(two...))
	if !got.Blocked || len(got.Blocking) != 1 || !strings.Contains(got.Reason, two[1].path) || got.Blocking[0].Change != "new" || got.Blocking[0].FindingID == 0 {
		t.Fatalf("a branch with one more: %+v", got)
	}
	if repeated := w.gated(t, topic, semgrepReport(two...)); !repeated.Blocked || repeated.Blocking[0].Change != "unchanged" || repeated.Blocking[0].FindingID != got.Blocking[0].FindingID {
		t.Errorf("the same again: %+v", repeated)
	}
	if got := w.gated(t, "project=acme/gate-new&ref=main&full=true", semgrepReport(two...)); got.Blocked {
		t.Errorf("the first scan of a primary branch: %+v", got)
	}
	w.triaged(t, object{"issue_type": "sast", "issue_ids": []int64{got.Blocking[0].FindingID}, "new_triage_state": "ignored"})
	if got := w.gated(t, topic, semgrepReport(two...)); got.Blocked {
		t.Errorf("once it is ignored: %+v", got)
	}
	id, err := strconv.ParseInt(got.BlockingScans[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	err = w.store.View(t.Context(), w.deployment.ID, func(ctx context.Context, tx *store.Tx) error {
		account, err := tx.ScanAccount(ctx, id)
		if err == nil && (account.Gate == nil || len(account.Gate.Blocking) != 1) {
			t.Errorf("the repeated upload removes the failed build's findings: %+v", account.Gate)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// testCompleteImport checks that a complete list of lockfiles removes those of any source, except for
// one that cannot be read (docs/reference/uploads.md).
func testCompleteImport(t *testing.T, w *world) {
	goMod := file{"go.mod", []byte("module a.example/b\n\nrequire x.example/y v1.2.3\n")}
	lock := file{"web/package-lock.json", []byte(`{"name":"w","lockfileVersion":3,"packages":{"":{},"node_modules/lodash":{"version":"4.17.20"}}}`)}
	send := func(query string, files ...file) api.ImportResponse {
		body, contentType := form(t, nil, files...)
		return read[api.ImportResponse](t, w.importing(t, "project=acme/whole&ref=main&"+query, body, "Content-Type", contentType))
	}
	dropped := func(r api.ImportResponse) (list []string) {
		for _, i := range r.Imports {
			list = append(list, i.Changes.LockfilesDropped...)
		}
		slices.Sort(list)
		return list
	}
	send("category=other", lock)
	if got := dropped(send("commit=1&full=true", goMod)); got != nil {
		t.Errorf("a full report of another source removes %v", got)
	}
	broken := send("commit=2&whole=true", goMod, file{lock.name, []byte(`{"name":`)})
	if got := dropped(broken); got != nil || len(broken.Imports) != 1 || len(broken.Imports[0].Refused) != 1 || broken.Imports[0].Refused[0].Item != lock.name {
		t.Errorf("an unreadable one: %v, %+v", got, broken)
	}
	if diff := cmp.Diff([]string{lock.name}, dropped(send("commit=3&whole=true", goMod))); diff != "" {
		t.Errorf("without it (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"go.mod"}, dropped(send("commit=4&whole=true"))); diff != "" {
		t.Errorf("without any (-want +got):\n%s", diff)
	}
	body, contentType := form(t, nil, goMod)
	invalid(t, w.importing(t, "project=acme/whole&whole=true&diff=true", body, "Content-Type", contentType))
	out, err := w.api().ImportReports(t.Context(), w.deployment.Slug, api.ImportQuery{Project: "acme/whole", Ref: "main", Whole: true, Commit: "5"},
		[]api.File{{Name: lock.name, Data: lock.text}}, api.WithKey(fmt.Sprint("whole ", w.deployment.ID)[:5]))
	if err != nil || len(out.Imports) != 1 || out.Imports[0].Changes.Added != 1 {
		t.Errorf("by the client: %+v, %v", out, err)
	}
}
