package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/demo"
	"github.com/redoubt/redoubt/internal/embedded"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// demoRepository is the scanned project of the demo.
const demoRepository = "acme/ledger"

// repository returns the directory of its working tree.
func (c demoCmd) repository() string {
	return filepath.Join(c.Data, "repositories", filepath.FromSlash(demoRepository))
}

// aboutRunner returns the description of managed scans, with a blank line after it.
func (c demoCmd) aboutRunner() string {
	if !c.Runner {
		return ""
	}
	return fmt.Sprintf("The project %s is scanned from the repository in\n\n    %s\n\nNew commits are scanned "+
		"within five minutes. To scan immediately, use Scan now on the project's page.\n\n", demoRepository, c.repository())
}

// addRepository creates the repository once and schedules scans: now and after each commit.
func (c demoCmd) addRepository(a *command.App, s *service, d model.Deployment) error {
	dir, err := filepath.Abs(c.repository())
	if err != nil {
		return err
	}
	switch _, err := os.Stat(dir); {
	case err == nil: // from an earlier start
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	head, err := commitCode(a.Ctx, dir)
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	address := (&url.URL{Scheme: "file", Path: filepath.ToSlash(dir)}).String()
	err = s.store.Update(a.Ctx, d.ID, model.Actor{
		Kind: "system", Name: "demo",
	}, func(ctx context.Context, tx *store.Tx) error {
		made, err := tx.AddConnection(ctx, model.Connection{
			Kind: model.HostGit, Name: "this machine", BaseURL: address, Account: "anybody", CheckedAt: tx.Now(),
		},
			func(int64) (store.Sealed, error) { return store.Sealed{}, nil })
		if err != nil {
			return err
		}
		seen, err := tx.SaveRepositories(ctx, made.ID, []model.Repository{
			{HostID: address, FullName: demoRepository, DefaultBranch: "main", Private: true, CloneURL: address},
		}, true)
		if err != nil {
			return err
		}
		p, err := tx.AssignProject(ctx, seen[0].ID)
		if err != nil {
			return err
		}
		if _, err := tx.UpdateProject(ctx, p.ID, store.ProjectPatch{ManagedFull: new(true)}); err != nil {
			return err
		}
		if err := tx.PutRunPlan(ctx, model.RunPlan{ProjectID: p.ID, Every: model.RunOnPush, QueuedAt: tx.Now()}); err != nil {
			return err
		}
		of, err := tx.Repository(ctx, p.ID)
		if err != nil {
			return err
		}
		if _, err := tx.NoteHead(ctx, of.ID, "main", head); err != nil {
			return err
		}
		return embedded.RunPushed(ctx, tx, of, "main", head)
	})
	if err != nil {
		err = errors.Join(err, os.RemoveAll(dir)) // the next start creates it again
	}
	return err
}

// commitCode creates a repository of the demo's code in a directory, and returns its commit.
func commitCode(ctx context.Context, dir string) (head string, err error) {
	git, err := exec.LookPath("git")
	if err != nil {
		return "", fmt.Errorf("managed scans require git: install it, or omit --runner: %w", err)
	}
	code, err := demo.Code()
	if err != nil {
		return "", err
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(dir), 0o700), os.CopyFS(dir, code)); err != nil {
		return "", err
	}
	for _, words := range [][]string{
		{"init", "-q", "-b", "main"},
		{"add", "-A"},
		{
			"-c", "user.name=" + demo.Owner, "-c", "user.email=" + demo.Owner + "@example.com",
			"-c", "commit.gpgSign=false", "-c", "core.hooksPath=" + os.DevNull, "commit", "-q", "-m", "Keep a ledger",
		},
		{"rev-parse", "HEAD"},
	} {
		words = append([]string{"-C", dir}, words...)
		out, err := exec.CommandContext(ctx, git, words...).CombinedOutput() //nolint:gosec // words of our own
		if err != nil {
			return "", fmt.Errorf("git %s: %w: %s", strings.Join(words, " "), err, out)
		}
		head = strings.TrimSpace(string(out))
	}
	return head, nil
}
