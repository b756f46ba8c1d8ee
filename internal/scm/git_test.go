package scm_test

import (
	"errors"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
)

// remote serves a repository over HTTP with basic authentication.
func remote(t *testing.T) (address string) {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("there is no git here: install it")
	}
	root := t.TempDir()
	for _, args := range [][]string{
		{"init", "--quiet", "--bare", "--initial-branch=trunk", "acme/payments.git"},
		{"init", "--quiet", "--initial-branch=trunk", "work"},
		{"-C", "work", "-c", "user.name=a", "-c", "user.email=a@b.example", "commit", "--quiet", "--allow-empty", "-m", "first"},
		{"-C", "work", "push", "--quiet", "../acme/payments.git", "trunk", "trunk:refs/heads/old/refs/heads/trunk"},
	} {
		c := exec.CommandContext(t.Context(), git, args...)
		c.Dir = root
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	backend := &cgi.Handler{Path: git, Args: []string{"http-backend"}, Dir: root, Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "HOME=" + root}, Stderr: os.Stderr}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "ci" || password != "s3cret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/acme/payments.git"
}

func TestGitRemotes(t *testing.T) {
	address := remote(t)
	repository := func(secret string) (model.Repository, error) {
		h, err := config(loopback).Open(model.Connection{Kind: model.HostGit, BaseURL: address}, model.HostCredential{Kind: model.CredentialPassword, Username: "ci", Secret: secret})
		if err != nil {
			t.Fatal(err)
		}
		return h.Repository(t.Context(), "")
	}
	if _, err := repository("wr0ng"); err == nil || strings.Contains(err.Error(), "wr0ng") {
		t.Errorf("a wrong password: %v", err)
	}
	r, err := repository("s3cret")
	equal(t, "the repository", err, r, model.Repository{HostID: address, FullName: "acme/payments", DefaultBranch: "trunk", Private: true, CloneURL: address})
	h, err := config(loopback).Open(model.Connection{Kind: model.HostGit, BaseURL: address}, model.HostCredential{Kind: model.CredentialPassword, Username: "ci", Secret: "s3cret"})
	if err != nil {
		t.Fatal(err)
	}
	if commit, err := h.Branch(t.Context(), r, "trunk"); err != nil || !model.IsCommit(commit) {
		t.Errorf("the newest commit of trunk is %q, %v", commit, err)
	}
	if commit, err := h.Branch(t.Context(), r, "runk"); !errors.Is(err, model.ErrNotFound) {
		t.Errorf("of a branch that is not there it is %q, %v", commit, err)
	}
}

func TestSSHHostKeyCheckingAndKeyPrivacy(t *testing.T) {
	seen := filepath.Join(t.TempDir(), "seen")
	fake := t.TempDir()
	script := "#!/bin/sh\nprintf '%s\\n' \"$@\" > '" + seen + "'; printf 'with %s\\n' \"$GIT_SSH_COMMAND\" >> '" + seen + "'; printf 'ref: refs/heads/trunk\\tHEAD\\n'\n"
	if err := os.WriteFile(filepath.Join(fake, "git"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", fake)
	h, err := config(loopback).Open(model.Connection{Kind: model.HostGit, BaseURL: "ssh://git@127.0.0.1:2222/acme/payments.git"},
		model.HostCredential{Kind: model.CredentialSSHKey, Secret: "PRIVATE", KnownHosts: "[127.0.0.1]:2222 ssh-ed25519 AAAA"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Who(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"StrictHostKeyChecking=yes", "HostKeyAlias='[127.0.0.1]:2222'", "IdentitiesOnly=yes", "-F none"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("ssh is not called with %s: %s", want, text)
		}
	}
	if strings.Contains(string(text), "PRIVATE") {
		t.Errorf("the key is in the environment or the arguments: %s", text)
	}
}

// TestFolderRemotesRequireLocalConfig checks that a folder is a valid remote only if Config.Local is set. The
// repository's name is the end of the path.
func TestFolderRemotesRequireLocalConfig(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("there is no git here: install it")
	}
	folder := filepath.Join(t.TempDir(), "acme", "ledger")
	if out, err := exec.CommandContext(t.Context(), git, "init", "--quiet", "--initial-branch=trunk", folder).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	at := model.Connection{Kind: model.HostGit, BaseURL: "file://" + folder}
	c := config(loopback)
	if _, err := c.Open(at, model.HostCredential{}); err == nil {
		t.Error("a folder is a remote")
	}
	c.Local = true
	h, err := c.Open(at, model.HostCredential{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := h.Repository(t.Context(), "")
	equal(t, "the repository", err, r, model.Repository{HostID: at.BaseURL, FullName: "acme/ledger", DefaultBranch: r.DefaultBranch, Private: true, CloneURL: at.BaseURL})
	for _, bad := range []model.Connection{{Kind: model.HostGit, BaseURL: "file://host" + folder}, {Kind: model.HostGitea, BaseURL: at.BaseURL}} {
		if _, err := c.Open(bad, model.HostCredential{}); err == nil {
			t.Errorf("%s of %s is a remote", bad.BaseURL, bad.Kind)
		}
	}
}
