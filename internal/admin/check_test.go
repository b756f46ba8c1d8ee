package admin

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// TestCheckExitCodes checks the exit codes for an intact, a damaged and a missing database.
func TestCheckExitCodes(t *testing.T) {
	dir := t.TempDir()
	a := &command.App{Ctx: t.Context(), Err: io.Discard, Clock: time.Now, Log: slog.New(slog.DiscardHandler), Getenv: os.Getenv, Environ: os.Environ}
	st, err := a.Create(config.Storage{Data: dir})
	if err != nil {
		t.Fatal(err)
	}
	_, err = st.CreateDeployment(t.Context(), "acme", "Acme", model.Actor{Kind: "cli"})
	if err := errors.Join(err, st.Close()); err != nil {
		t.Fatal(err)
	}
	check := func(dir string, asJSON bool) (string, int) {
		out := &bytes.Buffer{}
		a.Out = out
		err := CheckCmd{Storage: config.Storage{Data: dir}, JSON: asJSON}.Run(a)
		if code, ok := errors.AsType[*command.ExitError](err); ok {
			return out.String(), code.Code
		}
		if err != nil {
			t.Error(err)
		}
		return out.String(), 0
	}
	if out, code := check(dir, false); code != 0 || !regexp.MustCompile(`(?m)^ok +acme\b`).MatchString(out) || strings.Contains(out, "FAULT") {
		t.Errorf("a whole database ends with %d:\n%s", code, out)
	}
	if out, code := check(filepath.Join(dir, "none"), false); code != exitUnchecked {
		t.Errorf("no database ends with %d:\n%s", code, out)
	}
	file := filepath.Join(dir, store.FileName)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	copy(text[len(text)-4096:], strings.Repeat("\xa5", 100))
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := check(dir, false); code != exitFaults || !regexp.MustCompile(`(?m)^FAULT `).MatchString(out) {
		t.Errorf("a damaged database ends with %d:\n%s", code, out)
	}
	out, code := check(dir, true)
	var report struct {
		Whole  bool
		Checks []checked
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != exitFaults || report.Whole || len(report.Checks) == 0 || len(report.Checks[0].Faults) == 0 {
		t.Errorf("as JSON it ends with %d, %v:\n%s", code, err, out)
	}
}

// TestCheckReportsFaultsOfAllDeployments checks that two damaged deployments, one of whose findings cannot be listed, are
// both reported as faults.
func TestCheckReportsFaultsOfAllDeployments(t *testing.T) {
	w := newCheckWorld(t)
	w.scan("main", "a.js", "b.js")
	first := w.deployment
	var err error
	if w.deployment, err = w.store.CreateDeployment(t.Context(), "zz", "ZZ", model.Actor{Kind: "cli"}); err != nil {
		t.Fatal(err)
	}
	w.scan("main", "c.js")
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(w.storage.Data, store.FileName))
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		"DELETE FROM lineage WHERE id = (SELECT MIN(lineage_id) FROM finding WHERE deployment_id = ?)",
		"DELETE FROM finding_body WHERE deployment_id <> ?",
	} {
		if _, err := db.Exec(statement, first.ID); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	out := &bytes.Buffer{}
	w.app.Out = out
	err = CheckCmd{Storage: w.storage}.Run(w.app)
	if code, ok := errors.AsType[*command.ExitError](err); !ok || code.Code != exitFaults {
		t.Errorf("it ends with %v", err)
	}
	for _, want := range []string{"FAULT  acme: references between rows", "FAULT  acme: listed findings", "FAULT  zz: references between rows", "zz: listed findings"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in:\n%s", want, out)
		}
	}
}

// TestCheckComparesListsWithRows checks that each difference between listed and stored counts is
// reported, in both directions.
func TestCheckComparesListsWithRows(t *testing.T) {
	w := newCheckWorld(t)
	w.scan("main", "a.js", "b.js", "c.js")
	w.scan("main", "a.js", "b.js")
	var stored map[store.FindingCount]int
	err := w.store.View(t.Context(), w.deployment.ID, func(ctx context.Context, tx *store.Tx) (err error) {
		stored, err = tx.CountFindings(ctx)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	view, err := index.New(w.store, index.Options{Clock: w.app.Clock}).Deployment(t.Context(), w.deployment.ID)
	if err != nil {
		t.Fatal(err)
	}
	open := store.FindingCount{ProjectID: 1, IssueType: model.SAST, Status: model.StatusOpen}
	fixed := store.FindingCount{ProjectID: 1, IssueType: model.SAST, Status: model.StatusFixed}
	for name, c := range map[string]struct {
		change func(map[store.FindingCount]int)
		want   []string
	}{
		"nothing":             {func(map[store.FindingCount]int) {}, nil},
		"one is not listed":   {func(m map[store.FindingCount]int) { m[open]++ }, []string{"project 1: 3 sast findings with status open are stored, 2 are listed", "4 sast findings are stored, 3 are listed"}},
		"one is listed twice": {func(m map[store.FindingCount]int) { m[open]-- }, []string{"project 1: 1 sast findings with status open are stored, 2 are listed", "2 sast findings are stored, 3 are listed"}},
		"one is listed as something else": {func(m map[store.FindingCount]int) { m[open]++; delete(m, fixed) }, []string{
			"project 1: 3 sast findings with status open are stored, 2 are listed",
		}},
		"a project is not listed": {func(m map[store.FindingCount]int) {
			m[store.FindingCount{ProjectID: 7, IssueType: model.SCA, Status: model.StatusIgnored}] = 1
		}, []string{"project 7: 1 sca findings with status ignored are stored, 0 are listed", "1 sca findings are stored, 0 are listed"}},
		"removed files are in no list": {func(m map[store.FindingCount]int) {
			m[store.FindingCount{ProjectID: 1, IssueType: model.Secrets}] = 5
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			counts := maps.Clone(stored)
			c.change(counts)
			if got := compareCounts(view, counts); !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
}
