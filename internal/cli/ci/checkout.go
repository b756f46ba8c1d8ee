package ci

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/ci"
	"github.com/redoubt/redoubt/internal/cli/checkout"
	"github.com/redoubt/redoubt/internal/model"
)

// maxEvent is the maximum size of a workflow's event file in bytes.
const maxEvent = 8 << 20

// findCheckout finds the checkout and determines the revision under test.
func findCheckout(ctx context.Context, env ci.Env) (top string, c ci.Context, err error) {
	if top, err = checkout.Git(ctx, "", "rev-parse", "--show-toplevel"); err != nil {
		dir, getErr := os.Getwd()
		if getErr != nil {
			return "", c, getErr
		}
		// In a container, another user often owns the checkout, and git rejects it.
		if _, statErr := os.Lstat(filepath.Join(dir, ".git")); statErr == nil {
			return "", c, fmt.Errorf("git cannot read this checkout: %w", err)
		}
		top = dir
	}
	facts := ci.Facts{Top: filepath.ToSlash(top)}
	for fact, args := range map[*string][]string{
		&facts.Remote: {"remote", "get-url", "origin"},
		&facts.Branch: {"rev-parse", "--abbrev-ref", "HEAD"}, &facts.Commit: {"rev-parse", "HEAD"},
	} {
		*fact, _ = checkout.Git(ctx, top, args...) // empty if unknown
	}
	if name := env["GITHUB_EVENT_PATH"]; name != "" {
		if info, err := os.Stat(name); err == nil && info.Size() <= maxEvent {
			if facts.Event, err = os.ReadFile(name); err != nil {
				return "", c, fmt.Errorf("GITHUB_EVENT_PATH: %w", err)
			}
		}
	}
	c = ci.Detect(env, facts)
	if err := model.CheckProjectName(c.Project); err != nil {
		return "", c, fmt.Errorf("invalid project name %q: %w; set SEMGREP_REPO_NAME, such as acme/payments", c.Project, err)
	}
	return top, c, nil
}

// reports sends the reports of other scanners.
func (b *build) reports(ctx context.Context) error {
	if len(b.Report) == 0 {
		return nil
	}
	var files []api.File
	for _, name := range b.Report {
		data, err := os.ReadFile(name)
		if err != nil {
			return fmt.Errorf("a report was not sent: %w", err)
		}
		files = append(files, api.File{Name: filepath.ToSlash(name), Data: data})
	}
	b.showStep("uploading %d reports", len(files))
	out, err := b.server.send(ctx, api.ImportQuery{
		Project: b.at.Project, Ref: b.at.Ref, Commit: b.at.Commit, RepoURL: b.at.URL, Full: !b.ReportDiff, Diff: b.ReportDiff,
		Root: b.top,
	}, files)
	if err != nil {
		return fmt.Errorf("the reports were not imported: %w", err)
	}
	b.addOutcome(*out)
	return nil
}
