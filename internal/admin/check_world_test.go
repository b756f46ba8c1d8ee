package admin

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/reporttest"
)

// checkWorld is a database with a deployment.
type checkWorld struct {
	*testing.T
	app        *command.App
	storage    config.Storage
	store      *store.Store
	deployment model.Deployment
	now        time.Time
}

func newCheckWorld(t *testing.T) *checkWorld {
	w := &checkWorld{T: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	w.storage = config.Storage{Data: filepath.Join(t.TempDir(), "data")}
	w.app = &command.App{Ctx: t.Context(), Err: io.Discard, Clock: func() time.Time { w.now = w.now.Add(time.Second); return w.now }, Log: slog.New(slog.DiscardHandler), Getenv: os.Getenv, Environ: os.Environ}
	var err error
	if w.store, err = w.app.Create(w.storage); err != nil {
		t.Fatal(err)
	}
	if w.deployment, err = w.store.CreateDeployment(t.Context(), "acme", "Acme", model.Actor{Kind: "cli"}); err != nil {
		t.Fatal(err)
	}
	return w
}

// found returns a report of the scanner with one call in each file.
func found(paths ...string) []byte {
	var results []reporttest.Result
	for _, path := range paths {
		id := fmt.Sprintf("%x_0", path+strings.Repeat("-", 60))
		results = append(results, reporttest.Result{Rule: "eval", Path: path, Line: 3, Code: "eval(x)", Fingerprint: id})
	}
	return reporttest.Semgrep(results...)
}

// scan imports a report as a scan of a branch.
func (w *checkWorld) scan(ref string, paths ...string) {
	w.Helper()
	reports, err := report.Read(bytes.NewReader(found(paths...)), report.Options{Name: "results", Format: report.SemgrepJSON})
	if err != nil {
		w.Fatal(err)
	}
	err = w.store.Update(w.Context(), w.deployment.ID, model.Actor{Kind: "cli"}, func(ctx context.Context, tx *store.Tx) error {
		_, err := ingest.Apply(ctx, tx, exceptions.ForImport{Store: tx}, ingest.Upload{
			Project: model.Project{Name: "acme/shop"}, Ref: ref, Full: true, Report: reports[0],
		})
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
}
