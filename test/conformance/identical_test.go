package conformance

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// testIdentical checks that an identical file is recognized by its bytes. It is compared with the
// newest scan of the project, ref and source, and only if parsing it would have the same result.
func testIdentical(t *testing.T, w *world) {
	const query = "project=acme/identical&ref=main"
	a, b := semgrepReport(w.matches(60, 0, 12)...), semgrepReport(w.matches(60, 0, 11)...)
	outcome := func(what, want, query string, body []byte) api.Import {
		t.Helper()
		got := w.imported(t, query, body)
		if got.Outcome != want {
			t.Errorf("%s: %s, want %s", what, got.Outcome, want)
		}
		return got
	}
	const linked = "project=acme/identical-linked&ref=main&repo_url=https://git.example/acme/identical"
	outcome("with an address", "applied", linked, a)
	outcome("with the same address", "repeat", linked, a)
	outcome("with another address", "applied", linked+"2", a)
	outcome("the first", "applied", query, a)
	rows := w.allCode(t)
	repeated := outcome("the same bytes", "repeat", query, a)
	if repeated.Unchanged != 12 || repeated.New+repeated.Changed+repeated.Closed+len(repeated.Items) != 0 {
		t.Errorf("the same bytes: %+v", repeated)
	}
	outcome("the same once more", "repeat", query, a)
	outcome("of another commit", "applied", query+"&commit=c1", a) // the first upload had no commit
	outcome("and of a third", "repeat", query+"&commit=c2", a)
	scan := post[api.SearchScansResponse](t, w.site, "scans/search", object{}).Scans
	if len(scan) == 0 || scan[0].Commit != "c2" {
		t.Errorf("the newest scan: %+v", scan)
	}
	if diff := cmp.Diff(rows, w.allCode(t)); diff != "" {
		t.Errorf("findings (-before +after):\n%s", diff)
	}
	if got := outcome("other bytes", "applied", query, b); got.Closed != 1 {
		t.Errorf("other bytes: %+v", got)
	}
	if got := outcome("A, B, A", "applied", query, a); got.Returned != 1 {
		t.Errorf("A, B, A: %+v", got)
	}
	for what, otherwise := range map[string]string{
		"another ref": "project=acme/identical&ref=topic", "another category": query + "&category=nightly", "declared full": query + "&full=true",
		"as a diff": query + "&diff=true", "strict": query + "&strict=true", "another root": query + "&root=/src", "another project": "project=acme/identical-not&ref=main",
	} {
		outcome("the latest", "applied", query, b)
		outcome("the latest", "applied", query, a)
		outcome(what, "applied", otherwise, a)
	}
}

// testIdenticalReparsed checks that an upload is parsed again if stored data or the rules for parsing
// changed since.
func testIdenticalReparsed(t *testing.T, w *world) {
	const query = "project=acme/unlike&ref=topic"
	body := semgrepReport(w.matches(80, 0, 3)...)
	w.imported(t, "project=acme/unlike&ref=main", semgrepReport())
	w.imported(t, query, body)
	unlike := func(what string, returned int) {
		t.Helper()
		if got := w.imported(t, query, body); got.Outcome != "applied" || got.Returned != returned {
			t.Errorf("%s: %+v", what, got)
		}
		if got := w.imported(t, query, body); got.Outcome != "repeat" {
			t.Errorf("%s, and again: %s", what, got.Outcome)
		}
	}
	post[api.AddPolicyRulesResponse](t, w.site, "policies/"+w.policyOnly(t)+"/rules", object{"text": ruleText("another-rule-is-stored", "x")})
	unlike("another text of a rule is stored", 0)

	ci := w.newToken(t, model.Token{Name: "upload only", Scopes: []model.Scope{model.ScopeCI}})
	in := &site{url: w.url, client: w.client, deployment: w.deployment, token: ci, clock: w.clock}
	if got := in.imported(t, query, body); got.Outcome != "applied" {
		t.Errorf("without permission to triage: %s", got.Outcome)
	}
	unlike("from who may", 0)

	var project model.Project
	change := func(fn func(ctx context.Context, tx *store.Tx) error) {
		t.Helper()
		if err := w.store.Update(t.Context(), w.deployment.ID, model.Actor{Kind: "cli"}, fn); err != nil {
			t.Fatal(err)
		}
	}
	change(func(ctx context.Context, tx *store.Tx) (err error) {
		if project, err = tx.ProjectByName(ctx, "acme/unlike"); err != nil {
			return err
		}
		return tx.DeleteRef(ctx, project.ID, "refs/heads/topic")
	})
	unlike("the ref was deleted", 3)

	w.imported(t, "project=acme/unlike-other&ref=topic", semgrepReport(w.matches(90, 0, 2)...))
	change(func(ctx context.Context, tx *store.Tx) error {
		other, err := tx.ProjectByName(ctx, "acme/unlike-other")
		if err == nil {
			_, err = tx.MergeProjects(ctx, other.ID, project.ID)
		}
		return err
	})
	if got := w.imported(t, query, body); got.Outcome != "applied" || got.Closed != 2 {
		t.Errorf("after a merge that added findings: %+v", got)
	}
}

// testIdenticalGate checks that the gate evaluates an identical upload by the current policies and
// exceptions.
func testIdenticalGate(t *testing.T, w *world) {
	main, topic := "project=acme/same-gate&ref=main", "project=acme/same-gate&ref=topic"
	one, two := w.matches(100, 0, 1), w.matches(100, 0, 2)
	w.imported(t, main, semgrepReport(one...))
	body := semgrepReport(two...)
	answer := func() api.ImportResponse {
		t.Helper()
		return read[api.ImportResponse](t, w.importing(t, topic, body))
	}
	if got := answer(); got.Gate.Blocked {
		t.Errorf("no rule blocks: %+v", got.Gate)
	}
	w.blockImported(t, two[1].rule.name)
	got := answer()
	if got.Imports[0].Outcome != "repeat" || !got.Gate.Blocked || len(got.Gate.Blocking) != 1 || got.Gate.Blocking[0].Path != two[1].path || got.Gate.Blocking[0].Change != "unchanged" {
		t.Fatalf("once its rule blocks: %+v %+v", got.Imports[0].Outcome, got.Gate)
	}
	if !slices.Contains(got.Gate.BlockingScans, got.Imports[0].ScanID) {
		t.Errorf("the scans that block are %v, and this is %s", got.Gate.BlockingScans, got.Imports[0].ScanID)
	}
	post[api.ExceptionChangeResponse](t, w.site, "exceptions", object{"target": two[1].rule.name, "reason": "x", "forever": true, "projects": []string{"acme/same-gate"}})
	if got := answer(); got.Imports[0].Outcome != "repeat" || got.Gate.Blocked {
		t.Errorf("under an exception: %+v %+v", got.Imports[0].Outcome, got.Gate)
	}
}

// testMergedCommits checks that a superseded commit remains superseded after another project was
// merged into its project.
func testMergedCommits(t *testing.T, w *world) {
	const query = "project=acme/followed&ref=main&commit="
	a, b := semgrepReport(w.matches(120, 0, 3)...), semgrepReport(w.matches(120, 0, 2)...)
	w.imported(t, query+"c1", a)
	w.imported(t, query+"c2", b)
	w.imported(t, "project=acme/followed-too&ref=main&commit=d1", a)
	err := w.store.Update(t.Context(), w.deployment.ID, model.Actor{Kind: "cli"}, func(ctx context.Context, tx *store.Tx) error {
		from, err := tx.ProjectByName(ctx, "acme/followed-too")
		if err != nil {
			return err
		}
		into, err := tx.ProjectByName(ctx, "acme/followed")
		if err == nil {
			_, err = tx.MergeProjects(ctx, from.ID, into.ID)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.imported(t, query+"c1", a); got.Outcome != "superseded" || got.Returned != 0 {
		t.Errorf("the first commit again: %+v", got)
	}
}
