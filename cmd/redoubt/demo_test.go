package main

import (
	"context"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/admin"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/demo"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// TestDemo plays one demo, which takes seconds, for several tests. The last one closes its store.
func TestDemo(t *testing.T) {
	dir := t.TempDir()
	d, st := playedDemo(t, dir)
	t.Run("is a living system", func(t *testing.T) { testDemoHistory(t, d, st) })
	t.Run("is whole", func(t *testing.T) { testDemoPassesCheck(t, st) })
	t.Run("has saved views", func(t *testing.T) { testDemoHasViews(t, d, st) })
	t.Run("says of projects what is counted", func(t *testing.T) { testProjectPagesMatchCounts(t, d, st) })
	t.Run("keeps no secret", func(t *testing.T) { testDemoStoresNoSecret(t, dir, d, st) })
}

// testDemoPassesCheck applies the checks of redoubt check to a history with all kinds of writes, and
// then to one with foreign writes.
func testDemoPassesCheck(t *testing.T, st *store.Store) {
	a := &command.App{Ctx: t.Context(), Clock: time.Now}
	report := admin.NewCheckReport(a, true)
	err := st.CheckEngine(t.Context(), func(check string, faults []string) { report.Add("", check, faults) })
	if err == nil {
		err = admin.CheckDeployments(a, st, report)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range report.Checks {
		if len(c.Faults) > 0 {
			t.Errorf("%s: %v", c.Check, c.Faults)
		}
	}
	if len(report.Checks) != 9 {
		t.Errorf("checked was %+v", report.Checks)
	}
}

// testDemoStoresNoSecret searches the store for the invented secrets of the samples, which one of
// the scanners does not mask. It also checks that the secret rules in the samples are stored.
func testDemoStoresNoSecret(t *testing.T, dir string, d model.Deployment, st *store.Store) {
	err := st.View(t.Context(), d.ID, func(ctx context.Context, tx *store.Tx) error {
		rules, err := tx.SecretRules(ctx)
		if !rules[model.SecretRule{Tool: "gitleaks", Name: "github-pat"}] {
			t.Errorf("of gitleaks' rules %d are known", len(rules))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal("the demo left no files", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		for _, secret := range []string{"FAKEFAKE0123456789abcdef", "QWERTZUIOPFAKE7Q", "zQ3vKeyN0tRealJ8xLmPq7RsTuVwXyZ4b"} {
			if err != nil || strings.Contains(string(text), secret) {
				t.Errorf("%s holds the secret %s: %v", filepath.Base(file), secret, err)
			}
		}
	}
}

// playedDemo returns a demo with a played history.
func playedDemo(t *testing.T, dir string) (model.Deployment, *store.Store) {
	t.Helper()
	clock := &demoClock{real: time.Now}
	a := &command.App{Ctx: t.Context(), Out: io.Discard, Err: io.Discard, Log: slog.New(slog.DiscardHandler), Clock: clock.now, Getenv: os.Getenv, Environ: os.Environ}
	st, err := a.Create(config.Storage{Data: dir})
	if err != nil {
		t.Fatal(err)
	}
	s, err := newService(a, config.Storage{Data: dir}, config.Server{Addr: "127.0.0.1:0", MaxUpload: 256 << 20, ShutdownTimeout: time.Second}, st)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.close() })
	d, err := demoCmd{}.fill(a, clock, s)
	if err != nil {
		t.Fatal(err)
	}
	return d, st
}

// testDemoHistory checks that the demo contains decisions of several people and expired, active and
// requested exceptions. It also checks for findings from news without a scan, blocked builds, and
// the times of the history.
func testDemoHistory(t *testing.T, d model.Deployment, st *store.Store) {
	now := time.Now()
	if age := now.Sub(d.CreatedAt); age < 140*24*time.Hour {
		t.Errorf("the deployment is %v old", age)
	}
	err := st.View(t.Context(), d.ID, func(ctx context.Context, tx *store.Tx) error {
		events, err := tx.AuditEvents(ctx, 0, 10000)
		if err != nil {
			return err
		}
		by := map[string]map[string]bool{}
		for _, e := range events {
			if e.At.After(now) {
				t.Errorf("%s happens at %s, in the future", e.Action, e.At)
			}
			if by[e.Action] == nil {
				by[e.Action] = map[string]bool{}
			}
			by[e.Action][e.By.String()] = true
		}
		for _, action := range []string{"exception.create", "policy.update", "project.update"} {
			if !by[action]["user:maya"] && !by[action]["token:Maya Okafor"] {
				t.Errorf("%s was done by %v", action, by[action])
			}
		}
		trail, err := tx.TriageEvents(ctx, 0, math.MaxInt64)
		who := map[string]bool{}
		for _, e := range trail {
			who[e.By.String()] = true
		}
		for _, want := range []string{"token:Maya Okafor", "token:Jonas Weber", "token:Inês Duarte"} {
			if !who[want] {
				t.Errorf("%s decided about nothing; those who did: %v", want, who)
			}
		}
		if len(who) < 5 { // two exceptions
			t.Errorf("decided have %v", who)
		}
		if err != nil {
			return err
		}
		requested, _, err := tx.ExceptionPage(ctx, store.ExceptionQuery{Kind: model.ExceptionOfFindings, Limit: 10})
		if err != nil || len(requested) != 1 || requested[0].State != model.ExceptionRequested || requested[0].CreatedBy.Name != "Sam Whitfield" {
			t.Errorf("asked for is %+v, %v", requested, err)
		}
		if err != nil {
			return err
		}
		maya, err := tx.Member(ctx, demo.Owner)
		if err != nil {
			return err
		}
		mentioning, err := tx.CommentsMentioning(ctx, maya.ID, 10)
		if err != nil || len(mentioning) != 1 || mentioning[0].WrittenBy.Name != "Sam Whitfield" {
			t.Errorf("comments that mention %s: %+v, %v", demo.Owner, mentioning, err)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
