package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/programtest"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// lateServer is a server with an adjustable clock and a project with a repository for runners.
type lateServer struct {
	*testing.T
	service *service
	ahead   atomic.Int64 // of the real clock
	home    string
	url     string
	token   string // of runners
	d       model.Deployment
}

func newLateServer(t *testing.T) *lateServer {
	t.Helper()
	l := &lateServer{T: t, home: t.TempDir()}
	a := &command.App{Ctx: t.Context(), Out: io.Discard, Err: io.Discard, Log: slog.New(slog.DiscardHandler), Clock: func() time.Time { return time.Now().Add(time.Duration(l.ahead.Load())) }, Getenv: os.Getenv, Environ: os.Environ}
	data := t.TempDir()
	st, err := a.Create(config.Storage{Data: data})
	l.must(err)
	t.Cleanup(func() { _ = st.Close() })
	l.service, err = newService(a, config.Storage{Data: data}, config.Server{Addr: "127.0.0.1:0", MaxUpload: 64 << 20, ShutdownTimeout: time.Second}, st)
	l.must(err)
	server := l.service.serve(t.Context(), a, l.service.server.Handler())
	done := make(chan error, 1)
	go func() { done <- server.Serve(l.service.listener) }()
	t.Cleanup(func() { _ = server.Close(); <-done; _ = l.service.close() })
	l.url = "http://" + l.service.listener.Addr().String()
	l.d, err = st.CreateDeployment(t.Context(), "acme", "Acme", storetest.Actor)
	l.must(err)
	l.Update(func(ctx context.Context, tx *store.Tx) error {
		l.token, _, err = command.CreateToken(ctx, tx, model.Token{Name: "runners", Scopes: []model.Scope{model.ScopeRunner}, Dialect: model.DialectContract})
		return err
	})
	return l
}

func (l *lateServer) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

func (l *lateServer) Update(write func(ctx context.Context, tx *store.Tx) error) {
	l.Helper()
	l.must(l.service.store.Update(l.Context(), l.d.ID, storetest.Actor, write))
}

// run returns the only run.
func (l *lateServer) run() (r model.Run) {
	l.Helper()
	l.must(l.service.store.View(l.Context(), l.d.ID, func(ctx context.Context, tx *store.Tx) error {
		list, err := tx.Runs(ctx, store.RunQuery{Limit: 1})
		if err == nil && len(list) == 1 {
			r = list[0]
		}
		return err
	}))
	return r
}

// await waits until the run satisfies a condition.
func (l *lateServer) await(what string, is func(model.Run) bool) {
	l.Helper()
	for end := time.Now().Add(programtest.WaitAtMost); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if is(l.run()) {
			return
		}
	}
	l.Fatalf("the run was never %s: %+v", what, l.run())
}

// startRunner starts a runner with a shell script as the scanner.
func (l *lateServer) startRunner(name, scanner string) *exec.Cmd {
	l.Helper()
	program := filepath.Join(l.home, name+"-semgrep")
	l.must(os.WriteFile(program, []byte("#!/bin/sh\n"+scanner+"\n"), 0o755))
	cmd := exec.Command("redoubt", "runner", "--url", l.url, "--dir", filepath.Join(l.home, name), "--name", name, "--semgrep", program, "--isolation", "none", "--connect-to", "loopback")
	cmd.Env = append(os.Environ(), "REDOUBT_TOKEN="+l.token)
	cmd.Stderr = &bytes.Buffer{}
	l.must(cmd.Start())
	l.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// TestKilledRunnerIsReplaced checks that another runner takes over the run of one that was killed
// during a scan. The killed runner leaves no credential on disk.
func TestKilledRunnerIsReplaced(t *testing.T) {
	l := newLateServer(t)
	root, work := filepath.Join(l.home, "host"), filepath.Join(l.home, "work")
	for _, args := range [][]string{
		{"init", "-q", "-b", "main", work},
		{"-C", work, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "--allow-empty", "-m", "first"},
		{"clone", "-q", "--bare", work, filepath.Join(root, "shop.git")},
	} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Skipf("git %v: %v: %s", args, err, out)
		}
	}
	host := programtest.GitHost(t, root)
	l.service.scanner.CloneSource = func(context.Context, *store.Tx, model.Project) (model.CloneSource, error) {
		return model.CloneSource{URL: host.URL + "/shop.git", Username: "robot", Password: programtest.GitPassword}, nil
	}
	l.Update(func(ctx context.Context, tx *store.Tx) error {
		p, err := tx.CreateProject(ctx, model.Project{Name: "managed/shop"})
		if err == nil {
			_, err = tx.QueueRun(ctx, model.Run{ProjectID: p.ID, Kind: model.RunFull, Cause: model.RunByHand})
		}
		return err
	})
	began := filepath.Join(l.home, "began")
	lost := l.startRunner("lost", "touch "+began+"; exec sleep 600")
	l.await("in a scan", func(model.Run) bool { _, err := os.Stat(began); return err == nil })
	l.must(lost.Process.Signal(syscall.SIGKILL))
	_ = lost.Wait()
	err := filepath.WalkDir(filepath.Join(l.home, "lost"), func(name string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(name)
		if bytes.Contains(text, []byte(programtest.GitPassword)) || bytes.Contains(text, []byte(l.token)) {
			t.Errorf("%s holds a secret", name)
		}
		return err
	})
	l.must(err)
	l.startRunner("other", "exit 0")
	if r := l.run(); r.Attempt != 1 || !r.State.Begun() {
		t.Errorf("while its lease lasts the run is %+v", r)
	}
	l.ahead.Add(int64(model.RunLease + time.Second))
	l.await("lost", func(r model.Run) bool { return r.State == model.RunQueued || r.Attempt == 2 })
	if r := l.run(); r.Reason == "" {
		t.Errorf("lost it says %q", r.Reason)
	}
	l.ahead.Add(int64(model.RunBackoff(1) + time.Second))
	l.await("taken over", func(r model.Run) bool { return r.State.Ended() })
	r := l.run()
	// The test's script produces no valid scan.
	if r.Attempt != 2 || r.State != model.RunDone && r.Failure != model.RunScanner {
		t.Errorf("taken over, the run is %+v", r)
	}
	if answer, err := http.Get(l.url + "/readyz"); err != nil || errors.Join(answer.Body.Close()) != nil {
		t.Errorf("the server: %v", err)
	}
}
