package main

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// clonePassword is what the test's host asks for.
const clonePassword = "clone-password-of-the-host"

// gitHost serves the bare repositories of a folder over HTTP, to who knows the password.
func gitHost(t *testing.T, root string) *httptest.Server {
	t.Helper()
	backend, err := gitBackend(root)
	if err != nil {
		t.Skip("install git")
	}
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "robot" || password != clonePassword {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(host.Close)
	return host
}

// gitBackend answers about the bare repositories of a folder.
func gitBackend(root string) (http.Handler, error) {
	git, err := exec.LookPath("git")
	return &cgi.Handler{Path: git, Args: []string{"http-backend"}, Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1"}, Stderr: &bytes.Buffer{}}, err
}

// gitHostScript has a host of git that asks nobody who they are.
func gitHostScript(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: git-host FOLDER")
	}
	from, root := ts.MkAbs(args[0]), ts.MkAbs("host")
	backend, err := gitBackend(root)
	ts.Check(err)
	for _, words := range [][]string{
		{"init", "-q", "-b", "main"},
		{"add", "-A"},
		{"-c", "user.name=ada", "-c", "user.email=ada@example.com", "commit", "-q", "-m", "first"},
		{"clone", "-q", "--bare", from, filepath.Join(root, "acme", "payments.git")},
	} {
		ts.Check(ts.Exec("git", append([]string{"-C", from}, words...)...))
	}
	host := httptest.NewServer(backend)
	ts.Defer(host.Close)
	ts.Setenv("HOST", host.URL)
}

// Connect makes a connection to the host, and the project of a repository.
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
			_, err = tx.TakeRepository(ctx, seen[0].ID)
		}
		return err
	})
	if err := errors.Join(err, st.Close()); err != nil {
		w.Fatal(err)
	}
}

// TestManagedScanFromConnectionToFindings: a runner beside the server fetches with the
// connection's credential, has the real scanner scan in its sandbox, and the findings are
// the project's; a repository whose password is wrong says so.
func TestManagedScanFromConnectionToFindings(t *testing.T) {
	w := newCIWorld(t, "sqlite")
	root := t.TempDir()
	w.git("clone", "-q", "--bare", w.repo, filepath.Join(root, "shop.git"))
	host := gitHost(t, root)
	w.Connect(host.URL+"/shop.git", "managed/shop", clonePassword)
	w.Connect(host.URL+"/./shop.git", "managed/locked", "wrong")
	if said := w.redoubt("connection", "replies", "1", "collaborators"); !strings.Contains(said, "collaborators") {
		t.Errorf("replies are said to decide: %s", said)
	}
	w.redoubt("run", "start", "managed/shop")
	w.redoubt("run", "start", "managed/locked")
	token := strings.TrimSpace(w.redoubt("token", "create", "--scope", "runner", "runner"))
	runner := exec.Command("redoubt", "runner", "--url", w.target.String(), "--dir", filepath.Join(w.home, "runner"), "--semgrep", w.semgrep, "--connect-to", "loopback")
	runner.Env = append(os.Environ(), "REDOUBT_TOKEN="+token)
	var said bytes.Buffer
	runner.Stderr = &said
	if err := runner.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = runner.Process.Kill(); _ = runner.Wait() }()
	var list string
	for end := time.Now().Add(2 * waitAtMost); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if list = w.redoubt("run", "list"); strings.Contains(list, " failed ") && strings.Contains(list, " done ") {
			break
		}
	}
	if !strings.Contains(list, " done ") || !strings.Contains(list, " failed ") {
		t.Fatalf("runs:\n%s\nthe log of the first:\n%s", list, w.redoubt("run", "log", "1"))
	}
	log := w.redoubt("run", "log", "1")
	if strings.Contains(log+list, clonePassword) || strings.Contains(log, "rdt_") || !strings.Contains(log, "fetching http://") {
		t.Errorf("the log is\n%s", log)
	}
	scans := w.redoubt("export", "--format", "jsonl")
	if !strings.Contains(scans, "managed/shop") {
		t.Errorf("the project has no findings:\n%s\nthe log:\n%s", scans, log)
	}
}
