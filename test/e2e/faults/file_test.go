//go:build faults && linux

package faults

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/testutil/programtest"
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
	f.output.Wait(t, "the start is complete")
	f.importThree(t.Context(), "room-again")
	if !f.imports["imports/room-again"] {
		t.Error("after space was freed uploads are rejected")
	}
	f.kill()
	f.checkStored()
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

// startFull starts a server that cannot complete its start. Its address is in its log.
func (f *faulty) startFull() {
	f.t.Helper()
	token, slug := f.ready.Token, f.ready.DeploymentSlug
	f.launch([]string{"redoubt"}, filepath.Join(f.t.TempDir(), "ready.json"))
	f.output.Wait(f.t, "retries until the database is available")
	_, rest, _ := strings.Cut(f.output.String(), "url=")
	f.ready = programtest.Ready{BaseURL: strings.Fields(rest)[0], Token: token, DeploymentSlug: slug}
	f.client = &api.Client{BaseURL: f.ready.BaseURL, Token: token, Retries: -1}
}

// readsOnly checks that findings are listed and that writes are rejected with the reason.
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
