package e2e

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/programtest"
	"github.com/redoubt/redoubt/internal/testutil/scannertest"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// Connect creates a connection to the host, and the project of a repository.
func (w *ciWorld) Connect(base, name, password string) {
	w.Helper()
	a := &command.App{Ctx: w.Context(), Clock: time.Now, Out: w.log, Err: w.log, Log: nil, Getenv: os.Getenv, Environ: os.Environ}
	storage := config.Storage{Data: w.data}
	if len(w.storage) > 2 {
		storage.DatabaseURL = config.Secret(w.storage[1])
	}
	st, err := store.Open(w.Context(), store.Config{Dir: w.data, DatabaseURL: string(storage.DatabaseURL), Clock: time.Now})
	if err != nil {
		w.Fatal(err)
	}
	ring, err := command.OpenKeys(a, storage, st)
	if err != nil {
		w.Fatal(err)
	}
	sealer, err := ring.Sealer("connections")
	if err != nil {
		w.Fatal(err)
	}
	d, err := st.Deployment(w.Context(), "acme")
	if err != nil {
		w.Fatal(err)
	}
	err = st.Update(w.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		c, err := tx.AddConnection(ctx, model.Connection{Kind: model.HostGit, Name: name, BaseURL: base}, func(id int64) (store.Sealed, error) {
			sealed, err := scm.NewVault(sealer).Seal(d.ID, model.Connection{ID: id, Kind: model.HostGit, BaseURL: base}, model.HostCredential{Kind: model.CredentialPassword, Username: "robot", Secret: password})
			return store.Sealed{Credential: sealed}, err
		})
		if err != nil {
			return err
		}
		seen, err := tx.SaveRepositories(ctx, c.ID, []model.Repository{{HostID: name, FullName: name, DefaultBranch: "main", CloneURL: base}}, true)
		if err == nil {
			_, err = tx.AssignProject(ctx, seen[0].ID)
		}
		return err
	})
	if err := errors.Join(err, st.Close()); err != nil {
		w.Fatal(err)
	}
}

// TestManagedScanFromConnectionToFindings checks that a runner fetches with the connection's
// credential and scans with the real scanner in its sandbox. The findings belong to the project. A
// repository with a wrong password reports that.
func TestManagedScanFromConnectionToFindings(t *testing.T) {
	w := newCIWorld(t, "sqlite")
	root := t.TempDir()
	w.git("clone", "-q", "--bare", w.repo, filepath.Join(root, "shop.git"))
	host := programtest.GitHost(t, root)
	w.Connect(host.URL+"/shop.git", "managed/shop", programtest.GitPassword)
	w.Connect(host.URL+"/./shop.git", "managed/locked", "wrong")
	if output := w.redoubt("connection", "replies", "1", "collaborators"); !strings.Contains(output, "collaborators") {
		t.Errorf("replies are shown as enabled: %s", output)
	}
	w.redoubt("run", "start", "managed/shop")
	w.redoubt("run", "start", "managed/locked")
	token := strings.TrimSpace(w.redoubt("token", "create", "--scope", "runner", "runner"))
	runner := exec.Command("redoubt", "runner", "--url", w.target.String(), "--dir", filepath.Join(w.home, "runner"), "--semgrep", scannertest.Installed(t), "--connect-to", "loopback")
	runner.Env = append(os.Environ(), "REDOUBT_TOKEN="+token)
	var stderr bytes.Buffer
	runner.Stderr = &stderr
	if err := runner.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = runner.Process.Kill(); _ = runner.Wait() }()
	var list string
	for end := time.Now().Add(2 * programtest.WaitAtMost); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
		if list = w.redoubt("run", "list"); strings.Contains(list, " failed ") && strings.Contains(list, " done ") {
			break
		}
	}
	if !strings.Contains(list, " done ") || !strings.Contains(list, " failed ") {
		t.Fatalf("runs:\n%s\nthe log of the first:\n%s", list, w.redoubt("run", "log", "1"))
	}
	log := w.redoubt("run", "log", "1")
	if strings.Contains(log+list, programtest.GitPassword) || strings.Contains(log, "rdt_") || !strings.Contains(log, "fetching http://") {
		t.Errorf("the log is\n%s", log)
	}
	scans := w.redoubt("export", "--format", "jsonl")
	if !strings.Contains(scans, "managed/shop") {
		t.Errorf("the project has no findings:\n%s\nthe log:\n%s", scans, log)
	}
}
