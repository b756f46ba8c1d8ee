package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/admin"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/programtest"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// restarted is a server that is repeatedly started on one data directory.
type restarted struct {
	t       *testing.T
	storage config.Storage
	log     *programtest.Output
}

// serve runs a server, calls do, and stops the server as a signal would.
func (r *restarted) serve(do func(c *api.Client, deployment string)) {
	r.t.Helper()
	ctx, stop := context.WithCancel(r.t.Context())
	defer stop()
	r.log = &programtest.Output{}
	file := filepath.Join(r.t.TempDir(), "ready.json")
	done := make(chan error, 1)
	go func() {
		done <- serveCmd{
			Storage: r.storage, Server: config.Server{Addr: "127.0.0.1:0", ReadyFile: file, MaxUpload: 64 << 20, ShutdownTimeout: 30 * time.Second},
			Deployment: "acme", LogFormat: "text",
		}.Run(&command.App{Ctx: ctx, Out: io.Discard, Err: r.log, Clock: time.Now, Getenv: os.Getenv, Environ: os.Environ})
	}()
	ready := waitReady(r.t, file, done)
	do(&api.Client{BaseURL: ready.BaseURL, Token: ready.Token}, ready.DeploymentSlug)
	stop()
	if err := <-done; err != nil {
		r.t.Error(err)
	}
}

// reports imports n findings, if any, and checks that want findings are listed.
func (r *restarted) reports(n int, path string, want int) {
	r.t.Helper()
	r.serve(func(c *api.Client, deployment string) {
		if n > 0 {
			_, err := c.ImportReport(r.t.Context(), deployment, api.ImportQuery{Project: "acme/" + path, Ref: "main"}, strings.NewReader(programtest.Results(n, path)))
			if err != nil {
				r.t.Fatal(err)
			}
		}
		got := 0
		for f, err := range c.Findings(r.t.Context(), deployment, api.FindingsQuery{}) {
			if err != nil {
				r.t.Fatal(err)
			}
			if f.Location.FilePath == "" {
				r.t.Fatalf("a finding without its body: %+v", f)
			}
			got++
		}
		if got != want {
			r.t.Errorf("%d findings are listed, want %d", got, want)
		}
	})
}

// wantCheckpointRead checks whether the last server loaded the index from its checkpoint.
func (r *restarted) wantCheckpointRead(want bool) {
	r.t.Helper()
	if got := strings.Contains(r.log.String(), "index read from its checkpoint"); got != want {
		r.t.Errorf("the index was read from its checkpoint: %v, want %v\n%s", got, want, r.log)
	}
}

// TestServerResumesFromCheckpoint checks that a stopped server resumes from its checkpoint,
// regardless of writes by others in the meantime.
func TestServerResumesFromCheckpoint(t *testing.T) {
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			r := &restarted{t: t, storage: config.Storage{Data: t.TempDir()}}
			if engine == "postgres" {
				r.storage.DatabaseURL = config.Secret(storetest.Empty(t, engine).DatabaseURL)
			}
			r.reports(checkpointFrom+100, "first", checkpointFrom+100)
			r.wantCheckpointRead(false)
			r.reports(3, "second", checkpointFrom+103)
			r.wantCheckpointRead(true)
			r.reports(0, "", checkpointFrom+103)
			r.wantCheckpointRead(true)
			if err := os.RemoveAll(r.storage.IndexPath()); err != nil {
				t.Fatal(err)
			}
			r.reports(0, "", checkpointFrom+103)
			r.wantCheckpointRead(false)
		})
	}
}

// TestRestoredBackupIgnoresPreviousCheckpoint restores a backup and writes until the
// database has the same version as before. The checkpoint of the earlier state must not be used.
func TestRestoredBackupIgnoresPreviousCheckpoint(t *testing.T) {
	r := &restarted{t: t, storage: config.Storage{Data: t.TempDir()}}
	r.reports(checkpointFrom, "kept", checkpointFrom)
	backup := filepath.Join(t.TempDir(), "backup.db")
	a := &command.App{Ctx: t.Context(), Out: io.Discard, Err: io.Discard, Clock: time.Now}
	if err := (admin.BackupCmd{Storage: r.storage, File: backup}).Run(a); err != nil {
		t.Fatal(err)
	}
	r.reports(20, "lost", checkpointFrom+20)
	r.wantCheckpointRead(true)
	for _, name := range []string{store.FileName + "-wal", store.FileName + "-shm"} {
		_ = os.Remove(filepath.Join(r.storage.Data, name)) // there may be none
	}
	text, err := os.ReadFile(backup)
	if err := errors.Join(err, os.WriteFile(filepath.Join(r.storage.Data, store.FileName), text, 0o600)); err != nil {
		t.Fatal(err)
	}
	r.reports(10, "other", checkpointFrom+10)
	r.wantCheckpointRead(false)
	r.reports(0, "", checkpointFrom+10)
	r.wantCheckpointRead(true)
}

// TestDeletedDeploymentRemovesCheckpoint checks that the checkpoint of a deleted deployment is
// removed, with and without a running server.
func TestDeletedDeploymentRemovesCheckpoint(t *testing.T) {
	for _, serving := range []bool{false, true} {
		r := &restarted{t: t, storage: config.Storage{Data: t.TempDir()}}
		r.reports(checkpointFrom, "secret", checkpointFrom)
		left := func() []string {
			files, err := filepath.Glob(filepath.Join(r.storage.IndexPath(), "*"))
			if err != nil {
				t.Fatal(err)
			}
			return files
		}
		if len(left()) != 1 {
			t.Fatalf("files %v, want one", left())
		}
		remove := func() {
			err := admin.DeploymentDeleteCmd{Tenant: command.Tenant{Storage: r.storage, Deployment: "acme"}, Yes: true}.Run(&command.App{Ctx: t.Context(), Out: io.Discard, Err: io.Discard, Clock: time.Now})
			if err != nil || len(left()) > 0 {
				t.Errorf("serving %v: %v, left over: %v", serving, err, left())
			}
		}
		if !serving {
			remove()
			continue
		}
		r.serve(func(c *api.Client, deployment string) {
			if _, err := c.ImportReport(t.Context(), deployment, api.ImportQuery{Project: "acme/x", Ref: "main"}, strings.NewReader(programtest.Results(1, "x"))); err != nil {
				t.Fatal(err)
			}
			remove()
		})
		if len(left()) > 0 {
			t.Errorf("left over after the stop: %v\n%s", left(), r.log)
		}
	}
}

// TestWriteOnlyServerWritesCheckpoint checks that a server without read requests
// writes a checkpoint, so that the next one does not read all findings from the database.
func TestWriteOnlyServerWritesCheckpoint(t *testing.T) {
	r := &restarted{t: t, storage: config.Storage{Data: t.TempDir()}}
	r.serve(func(c *api.Client, deployment string) {
		_, err := c.ImportReport(t.Context(), deployment, api.ImportQuery{Project: "acme/written", Ref: "main"}, strings.NewReader(programtest.Results(checkpointFrom+100, "written")))
		if err != nil {
			t.Fatal(err)
		}
		r.await("index loaded")
	})
	r.reports(0, "", checkpointFrom+100)
	r.wantCheckpointRead(true)
}

// TestTwoServersOnOneDataDirectory checks that each server immediately returns findings stored by the
// other.
func TestTwoServersOnOneDataDirectory(t *testing.T) {
	storage := config.Storage{Data: t.TempDir()}
	one, other := &restarted{t: t, storage: storage}, &restarted{t: t, storage: storage}
	one.serve(func(c *api.Client, deployment string) {
		other.serve(func(second *api.Client, _ string) {
			second.Token = c.Token
			stores, lists := c, second
			for n := range 4 {
				_, err := stores.ImportReport(t.Context(), deployment, api.ImportQuery{Project: fmt.Sprintf("acme/%d", n), Ref: "main"}, strings.NewReader(programtest.Results(1, "a")))
				if err != nil {
					t.Fatal(err)
				}
				got, err := lists.ListFindings(t.Context(), deployment, api.FindingsQuery{})
				if err != nil || len(got.SASTFindings.Findings) != n+1 {
					t.Fatalf("after %d uploads the other server lists %v, %v", n+1, got, err)
				}
				stores, lists = lists, stores
			}
		})
	})
}

// await waits until the log of the running server contains a text.
func (r *restarted) await(text string) {
	r.t.Helper()
	for deadline := time.Now().Add(time.Minute); !strings.Contains(r.log.String(), text); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Fatalf("the log does not say %q:\n%s", text, r.log)
		}
	}
}
