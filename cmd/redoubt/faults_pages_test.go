//go:build faults && linux

package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestFaultsDamagedPages overwrites the first page of each table and index. A server with that
// database responds as before or reports that its database is damaged.
func TestFaultsDamagedPages(t *testing.T) {
	dir := t.TempDir()
	d, st := playedDemo(t, dir)
	token, err := newToken(&command.App{Ctx: t.Context()}, st, d, "faults")
	if err := errors.Join(err, st.Close()); err != nil {
		t.Fatal(err)
	}
	pages, err := storetest.Pages(t.Context(), dir)
	if err != nil || len(pages) < 50 {
		t.Fatalf("there are %d pages, %v", len(pages), err)
	}
	intact, err := os.ReadFile(filepath.Join(dir, store.FileName))
	if err != nil {
		t.Fatal(err)
	}
	keys, err := os.ReadFile(config.Storage{Data: dir}.KeyPath())
	if err != nil {
		t.Fatal(err)
	}
	right := answersOn(t, intact, keys, token)
	for path, a := range right {
		if a.status != http.StatusOK {
			t.Fatalf("undamaged, %s answers %d: %.200s", path, a.status, a.text)
		}
	}
	reportedPages := 0
	for _, page := range pages {
		damaged := slices.Clone(intact)
		copy(damaged[(page.Root-1)*page.Size:], strings.Repeat("\xa5", 64))
		got := answersOn(t, damaged, keys, token)
		reported := got == nil || strings.Contains(got["/readyz"].text, "damaged")
		if reported {
			reportedPages++
		}
		for path, a := range got {
			if path == "/readyz" || a == right[path] || a.status == http.StatusServiceUnavailable && strings.Contains(a.text, "damaged") {
				continue
			}
			if !reported || a.status == http.StatusInternalServerError {
				t.Errorf("%s is damaged: %s answers %d, said %v: %.200s", page.Name, path, a.status, reported, a.text)
			}
		}
	}
	t.Logf("%d tables and indexes damaged one by one; it was said of %d", len(pages), reportedPages)
}

type answered struct {
	status int
	text   string
}

// answersOn starts a service with a database file and returns responses to typical requests, or nil
// if it refuses to start with a reason.
func answersOn(t *testing.T, file, keys []byte, token ready) map[string]answered {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, store.FileName), file, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config.Storage{Data: dir}.KeyPath(), keys, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	a := &command.App{Ctx: ctx, Out: io.Discard, Err: io.Discard, Clock: time.Now, Log: slog.New(slog.DiscardHandler), Getenv: os.Getenv, Environ: os.Environ}
	st, err := a.Create(config.Storage{Data: dir})
	if err != nil {
		if !errors.Is(err, model.ErrDamaged) {
			t.Errorf("a start says %v", err)
		}
		return nil
	}
	defer st.Close()
	s, err := newService(a, config.Storage{Data: dir}, config.Server{Addr: "127.0.0.1:0", MaxUpload: 1 << 20, ShutdownTimeout: time.Second}, st)
	if err != nil {
		if !errors.Is(err, model.ErrDamaged) {
			t.Errorf("a start says %v", err)
		}
		return nil
	}
	defer s.close()
	s.checkFile(ctx)
	got := map[string]answered{}
	api := "/api/v1/deployments/" + token.DeploymentSlug
	for _, path := range []string{api + "/findings", api + "/findings?issue_type=sca", api + "/projects", api + "/policies", api + "/exceptions", "/api/v1/deployments", "/readyz"} {
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil)
		r.Header.Set("Authorization", "Bearer "+token.Token)
		w := httptest.NewRecorder()
		s.server.Handler().ServeHTTP(w, r)
		got[path] = answered{w.Code, w.Body.String()}
	}
	return got
}
