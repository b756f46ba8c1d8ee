package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/store"
)

// TestDemoKeepsNoSecret fills a demo and looks for the made-up secrets of its
// samples, which one of their scanners writes as they are. What the samples
// teach of rules is known afterwards.
func TestDemoKeepsNoSecret(t *testing.T) {
	dir := t.TempDir()
	a := &app{ctx: t.Context(), out: io.Discard, err: io.Discard, clock: time.Now}
	st, err := a.create(config.Storage{Data: dir})
	if err != nil {
		t.Fatal(err)
	}
	d, err := demoCmd{}.fill(a, st)
	if err != nil {
		t.Fatal(err)
	}
	err = st.View(t.Context(), d.ID, func(ctx context.Context, tx *store.Tx) error {
		rules, err := tx.SecretRules(ctx)
		if !rules[redoubt.SecretRule{Tool: "gitleaks", Name: "github-pat"}] {
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
