package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp"
	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/cli"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web"
)

// testDemoHasViews lists the findings of the demo's saved views with the command line, by their
// names.
func testDemoHasViews(t *testing.T, d model.Deployment, st *store.Store) {
	log := slog.New(slog.DiscardHandler)
	srv, err := apihttp.New(apihttp.Config{
		Store: st, Index: index.New(st, index.Options{BodyCache: 64 << 20, Clock: time.Now, Logger: log}), Clock: time.Now, Logger: log, Version: "test",
		SigningKeys: httpx.OneKey([]byte("0123456789abcdef0123456789abcdef")), SecretKey: []byte("0123456789abcdef"), ReadQuery: web.FindingQuery,
	})
	if err != nil {
		t.Fatal(err)
	}
	site := httptest.NewServer(srv.Handler())
	defer site.Close()
	secret := auth.NewSecret(d.ID)
	err = st.Update(t.Context(), d.ID, model.Actor{Kind: "cli", Name: "test"}, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.CreateToken(ctx, model.Token{Name: "desk", PublicID: secret.PublicID, Scopes: []model.Scope{model.ScopeWebAPI}}, secret.Hash)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var warned bytes.Buffer
	list := func(c cli.FindingsListCmd) (out []api.Finding, failed error) {
		var output bytes.Buffer
		warned.Reset()
		c.URL, c.Token, c.Output = site.URL, config.Secret(secret.Text), "json"
		if failed = c.Run(&command.App{Ctx: t.Context(), Out: &output, Err: &warned, Clock: time.Now, Log: log, Getenv: os.Getenv, Environ: os.Environ, OpenInProcess: openInProcess}); failed != nil {
			return nil, failed
		}
		if err := json.Unmarshal(output.Bytes(), &out); err != nil {
			t.Fatalf("%s: %v", output.String(), err)
		}
		return out, nil
	}

	client := api.New(site.URL, secret.Text)
	views, err := client.ListSavedViews(t.Context(), d.Slug)
	if err != nil || len(views.Views) != 2 {
		t.Fatalf("%+v, %v", views, err)
	}
	for _, v := range views.Views {
		issueType, _ := model.ParseIssueType(v.IssueType)
		if q, err := web.FindingQuery(issueType, v.Query, time.Now()); err != nil || q.Text != v.Query || v.Problem != "" || !v.Shared {
			t.Errorf("%+v is kept as no page would: %q, %v", v, q.Text, err)
		}
	}
	likely, err := list(cli.FindingsListCmd{View: "LIKELY to be exploited", Type: "sca"})
	if err != nil || len(likely) < 3 {
		t.Fatalf("%d findings, %v", len(likely), err)
	}
	scores := map[float64]bool{}
	for i, f := range likely {
		if scores[f.EPSSScore.Score] = true; i > 0 && f.EPSSScore.Score > likely[i-1].EPSSScore.Score {
			t.Errorf("%v comes after %v", f.EPSSScore, likely[i-1].EPSSScore)
		}
	}
	if len(scores) < 2 {
		t.Error("all have one score, which shows no order")
	}
	late, err := list(cli.FindingsListCmd{View: "Overdue, by due date"})
	if err != nil || len(late) == 0 || late[0].Overdue == nil || !*late[0].Overdue {
		t.Errorf("%d are overdue, %v", len(late), err)
	}
	made, err := client.CreateSavedView(t.Context(), d.Slug, api.CreateSavedViewRequest{Name: "Leaked", IssueType: "secrets", Shared: true})
	if err != nil {
		t.Fatal(err)
	}
	if leaked, err := list(cli.FindingsListCmd{View: made.View.Name}); err != nil || len(leaked) == 0 || leaked[0].SecretType == nil {
		t.Errorf("%d secrets, %v", len(leaked), err)
	}
	gone, err := client.CreateSavedView(t.Context(), d.Slug, api.CreateSavedViewRequest{Name: "Gone", IssueType: "sast", Query: "project_tags=gone", Shared: true})
	if err != nil {
		t.Fatal(err)
	}
	if left, err := list(cli.FindingsListCmd{View: gone.View.Name}); err != nil || len(left) != 0 || !strings.Contains(warned.String(), `"Gone"`) {
		t.Errorf("%d of a tag that is gone, %v, with the words %q", len(left), err, warned.String())
	}
	for want, c := range map[string]cli.FindingsListCmd{
		`saved view "nothing" not found`:         {View: "nothing"},
		"cannot be combined with other filters":  {View: "Leaked", FindingFlags: cli.FindingFlags{Severity: []string{"high"}}},
		"--view cannot be combined":              {View: "Leaked", Status: []string{"open"}},
		"does not match the view's type secrets": {View: "Leaked", Type: "sast"},
		"--sort does not apply to secrets":       {View: "Leaked", Sort: "due"},
		"sorts only issue_type":                  {Type: "sast", Sort: "epss"},
	} {
		if _, err := list(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", c, err, want)
		}
	}
}
