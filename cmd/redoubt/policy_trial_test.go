package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/store"
)

// trialWorld is a project with a rule and findings, and a scanner that says what it is told.
type trialWorld struct {
	*testing.T
	app         *app
	storage     config.Storage
	store       *store.Store
	deployment  redoubt.Deployment
	dir, rules  string
	now         time.Time
	scanned     string // what the scanner writes
	scannerFile string
}

func newTrialWorld(t *testing.T) *trialWorld {
	w := &trialWorld{T: t, dir: t.TempDir(), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	w.storage = config.Storage{Data: filepath.Join(w.dir, "data")}
	w.app = &app{ctx: t.Context(), err: io.Discard, clock: func() time.Time { w.now = w.now.Add(time.Second); return w.now }, log: slog.New(slog.DiscardHandler)}
	var err error
	if w.store, err = w.app.create(w.storage); err != nil {
		t.Fatal(err)
	}
	if w.deployment, err = w.store.CreateDeployment(t.Context(), "acme", "Acme", redoubt.Actor{Kind: "cli"}); err != nil {
		t.Fatal(err)
	}
	w.rules, w.scanned, w.scannerFile = filepath.Join(w.dir, "eval.yaml"), filepath.Join(w.dir, "out.json"), filepath.Join(w.dir, "semgrep")
	for name, text := range map[string]string{
		w.rules:       "rules:\n- {id: eval, languages: [js], severity: ERROR, message: m, pattern: eval(...)}\n",
		w.scannerFile: fmt.Sprintf("#!/bin/sh\nexec cat %s\n", w.scanned),
	} {
		if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// found is what the scanner writes of calls in files.
func found(paths ...string) []byte {
	var results []string
	for _, path := range paths {
		results = append(results, fmt.Sprintf(`{"check_id":"eval","path":"%[1]s","start":{"line":3,"col":1},"end":{"line":3,"col":8},
			"extra":{"message":"m","severity":"ERROR","metadata":{},"lines":"eval(x)","fingerprint":"%[2]x_0"}}`, path, []byte(path+strings.Repeat("-", 60))))
	}
	return []byte(fmt.Sprintf(`{"version":"1.180.0","results":[%s],"errors":[],"paths":{"scanned":["%s"]}}`, strings.Join(results, ","), strings.Join(paths, `","`)))
}

// scan imports what the scanner writes as a scan of a branch.
func (w *trialWorld) scan(ref string, paths ...string) {
	w.Helper()
	reports, err := report.Read(bytes.NewReader(found(paths...)), report.Options{Name: "results", Format: report.SemgrepJSON})
	if err != nil {
		w.Fatal(err)
	}
	err = w.store.Update(w.Context(), w.deployment.ID, redoubt.Actor{Kind: "cli"}, func(ctx context.Context, tx *store.Tx) error {
		_, err := ingest.Apply(ctx, tx, exceptions.ForImport{Store: tx}, ingest.Upload{
			Project: redoubt.Project{Name: "acme/shop"}, Ref: ref, Full: true, Report: reports[0],
		})
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
}

// try tries the rule on a checkout in which the scanner finds calls in files.
func (w *trialWorld) try(checkout, ref string, paths ...string) string {
	w.Helper()
	if err := os.WriteFile(w.scanned, found(paths...), 0o600); err != nil {
		w.Fatal(err)
	}
	out := &heard{}
	w.app.out = out
	command := policiesTestCmd{
		webAPI: webAPI{reach{Storage: w.storage}, "table"},
		Rules:  w.rules, Project: "acme/shop", Path: checkout, Ref: ref, Semgrep: w.scannerFile,
	}
	if err := errors.Join(command.Run(w.app), w.app.end()); err != nil {
		w.Fatal(err)
	}
	w.app.ends = nil
	return strings.Join(strings.Fields(out.String()), " ")
}

// TestATrialIsJudgedAsTheGateWould tries a rule on a branch on which an ignored call
// moved, and came back beside its new place.
func TestATrialIsJudgedAsTheGateWould(t *testing.T) {
	w := newTrialWorld(t)
	w.scan("main", "a/app/x.js", "c/app/y.js")
	err := w.store.Update(t.Context(), w.deployment.ID, redoubt.Actor{Kind: "cli"}, func(ctx context.Context, tx *store.Tx) error {
		list, err := tx.FindingsByID(ctx, []int64{1})
		return errors.Join(err, tx.UpdateTriage(ctx, []redoubt.TriageEvent{{LineageID: list[0].LineageID, At: tx.Now(), After: redoubt.Triage{State: redoubt.TriageIgnored}}}))
	})
	if err != nil {
		t.Fatal(err)
	}
	w.scan("dev", "a/app/x.js", "c/app/y.js")
	w.scan("dev", "b/app/x.js", "c/app/y.js")
	checkout := filepath.Join(w.dir, "checkout")
	for _, args := range [][]string{{"init", "-q", "-b", "dev", checkout}, {"init", "-q", "-b", "fresh", checkout + "-fresh"}} {
		if out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	for _, c := range []struct {
		name, checkout, ref string
		paths               []string
		want                string
	}{
		{"as main", checkout, "", []string{"a/app/x.js", "c/app/y.js"}, "eval a/app/x.js:3 block ignored - eval c/app/y.js:3 block known - Rules: 1. Findings: 2, of them new: 0"},
		{"moved", checkout, "", []string{"b/app/x.js", "c/app/y.js"}, "eval b/app/x.js:3 block ignored - eval c/app/y.js:3 block known -"},
		{"a copy", checkout, "", []string{"a/app/x.js", "b/app/x.js", "c/app/y.js"}, "eval a/app/x.js:3 block ignored - eval b/app/x.js:3 block new fails eval c/app/y.js:3 block known -"},
		{"a copy, on another branch", checkout + "-fresh", "", []string{"a/app/x.js", "b/app/x.js", "c/app/y.js"}, "eval a/app/x.js:3 block ignored - eval b/app/x.js:3 block new fails eval c/app/y.js:3 block known -"},
		{"moved on this branch only", checkout, "", []string{"b/app/x.js", "d/app/y.js"}, "eval b/app/x.js:3 block ignored - eval d/app/y.js:3 block known -"},
		{"elsewhere it is new", checkout + "-fresh", "", []string{"b/app/x.js", "d/app/y.js"}, "eval b/app/x.js:3 block ignored - eval d/app/y.js:3 block new fails"},
		{"by the branch that is named", checkout + "-fresh", "dev", []string{"b/app/x.js", "d/app/y.js"}, "eval d/app/y.js:3 block known -"},
		{"of no branch", w.dir, "", []string{"b/app/x.js", "d/app/y.js"}, "eval d/app/y.js:3 block new fails"},
	} {
		if got := w.try(c.checkout, c.ref, c.paths...); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q is not in\n%s", c.name, c.want, got)
		}
	}
	err = w.store.View(t.Context(), w.deployment.ID, func(ctx context.Context, tx *store.Tx) error {
		if rows, err := tx.Findings(ctx, 1, "refs/heads/dev", "semgrep"); err != nil || len(rows) != 2 {
			t.Errorf("it left %d findings on dev, %v", len(rows), err)
		}
		return nil
	})
	if err := errors.Join(err, w.store.Close()); err != nil {
		t.Fatal(err)
	}
}
