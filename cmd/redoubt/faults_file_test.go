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
	"syscall"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestFaultsDiskFull fills the disk under a server, kills it, and starts another.
func TestFaultsDiskFull(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64m"); err != nil {
		const why = "a full disk is a small file system in memory, which only root may make"
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s: %v", why, err)
		}
		t.Skipf("%s: %v", why, err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	f := newFaulty(t, config.Storage{Data: filepath.Join(dir, "data")})
	f.start()
	f.base()
	stop := f.write("full")
	f.acknowledge(20)
	others := filepath.Join(dir, "others")
	f.fill(others)
	f.readiness(http.StatusOK, "read-only", "disk of the database is full")
	stop()
	f.readsOnly()
	f.kill()
	f.fill(filepath.Join(dir, "more"))
	f.startFull()
	f.readsOnly()
	if err := errors.Join(os.Remove(others), os.Remove(filepath.Join(dir, "more"))); err != nil {
		t.Fatal(err)
	}
	f.readiness(http.StatusOK, `"writes":"ok"`)
	f.said.wait(t, "the start is finished")
	f.importThree(t.Context(), "room-again")
	if !f.imports["imports/room-again"] {
		t.Error("with room again nothing is taken")
	}
	f.kill()
	f.whole()
}

func (f *faulty) fill(name string) {
	f.t.Helper()
	file, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		f.t.Fatal(err)
	}
	defer file.Close()
	for size := 1 << 20; size > 0; size /= 2 {
		piece := make([]byte, size)
		for err == nil {
			_, err = file.Write(piece)
		}
		err = nil
	}
}

// startFull starts a server that cannot finish its start: its address is in its log.
func (f *faulty) startFull() {
	f.t.Helper()
	token, slug := f.ready.Token, f.ready.DeploymentSlug
	f.launch([]string{"redoubt"}, filepath.Join(f.t.TempDir(), "ready.json"))
	f.said.wait(f.t, "tried again until it does")
	_, rest, _ := strings.Cut(f.said.String(), "url=")
	f.ready = ready{BaseURL: strings.Fields(rest)[0], Token: token, DeploymentSlug: slug}
	f.client = &api.Client{BaseURL: f.ready.BaseURL, Token: token, Retries: -1}
}

// readsOnly holds that findings are listed, and that a write is refused by name.
func (f *faulty) readsOnly() {
	f.t.Helper()
	if got, err := f.client.ListFindings(f.t.Context(), f.ready.DeploymentSlug, api.FindingsQuery{}); err != nil || len(got.SASTFindings.Findings) == 0 {
		f.t.Errorf("findings on a full disk are %v", err)
	}
	_, err := f.client.ImportReport(f.t.Context(), f.ready.DeploymentSlug, api.ImportQuery{Project: "acme/full", Ref: "main"}, strings.NewReader(semgrepResults("full", 3000)))
	if problem := (*api.Problem)(nil); !errors.As(err, &problem) || problem.Status != http.StatusServiceUnavailable || !strings.Contains(problem.Detail, "full") {
		f.t.Errorf("a write on a full disk is %v", err)
	}
}

// TestFaultsDamagedPages writes nonsense over the first page of each table and
// index: a server on it answers as before, or says that its database is damaged.
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
	whole, err := os.ReadFile(filepath.Join(dir, store.FileName))
	if err != nil {
		t.Fatal(err)
	}
	keys, err := os.ReadFile(config.Storage{Data: dir}.KeyPath())
	if err != nil {
		t.Fatal(err)
	}
	right := answersOn(t, whole, keys, token)
	for path, a := range right {
		if a.status != http.StatusOK {
			t.Fatalf("undamaged, %s answers %d: %.200s", path, a.status, a.text)
		}
	}
	said := 0
	for _, page := range pages {
		damaged := slices.Clone(whole)
		copy(damaged[(page.Root-1)*page.Size:], strings.Repeat("\xa5", 64))
		got := answersOn(t, damaged, keys, token)
		says := got == nil || strings.Contains(got["/readyz"].text, "damaged")
		if says {
			said++
		}
		for path, a := range got {
			if path == "/readyz" || a == right[path] || a.status == http.StatusServiceUnavailable && strings.Contains(a.text, "damaged") {
				continue
			}
			if !says || a.status == http.StatusInternalServerError {
				t.Errorf("%s is damaged: %s answers %d, said %v: %.200s", page.Name, path, a.status, says, a.text)
			}
		}
	}
	t.Logf("%d tables and indexes damaged one by one; it was said of %d", len(pages), said)
}

type answered struct {
	status int
	text   string
}

// answersOn starts a service on a file and asks it for what people look at; nil
// where it does not start and says why.
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
