package main

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/store"
)

// TestCheckEndsWithACode checks a whole database, a damaged one, and none.
func TestCheckEndsWithACode(t *testing.T) {
	dir := t.TempDir()
	a := &app{ctx: t.Context(), err: io.Discard, clock: time.Now, log: slog.New(slog.DiscardHandler)}
	st, err := a.create(config.Storage{Data: dir})
	if err != nil {
		t.Fatal(err)
	}
	_, err = st.CreateDeployment(t.Context(), "acme", "Acme", redoubt.Actor{Kind: "cli"})
	if err := errors.Join(err, st.Close()); err != nil {
		t.Fatal(err)
	}
	check := func(dir string, asJSON bool) (string, int) {
		out := &heard{}
		a.out = out
		err := checkCmd{Storage: config.Storage{Data: dir}, JSON: asJSON}.Run(a)
		if code, ok := errors.AsType[*exitError](err); ok {
			return out.String(), code.code
		}
		if err != nil {
			t.Error(err)
		}
		return out.String(), 0
	}
	if out, code := check(dir, false); code != 0 || !strings.Contains(out, "ok     acme: the feed of changes") || strings.Contains(out, "FAULT") {
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
	if out, code := check(dir, false); code != exitFaults || !strings.Contains(out, "FAULT  pages and indexes of the file") {
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
