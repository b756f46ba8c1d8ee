package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/ci"
	"github.com/redoubt/redoubt/internal/glob"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/report/lockfile"
)

// maxEvent bounds the file that tells of a workflow's event, in bytes.
const maxEvent = 8 << 20

// checkout finds the checkout and what is under test in it.
func checkout(ctx context.Context, env ci.Env) (top string, c ci.Context, err error) {
	if top, err = git(ctx, "", "rev-parse", "--show-toplevel"); err != nil {
		here, getErr := os.Getwd()
		if getErr != nil {
			return "", c, getErr
		}
		// In a container the checkout is often someone else's, which git refuses.
		if _, statErr := os.Lstat(filepath.Join(here, ".git")); statErr == nil {
			return "", c, fmt.Errorf("git does not read this checkout: %w", err)
		}
		top = here
	}
	facts := ci.Facts{Top: filepath.ToSlash(top)}
	for fact, args := range map[*string][]string{
		&facts.Remote: {"remote", "get-url", "origin"}, &facts.Branch: {"rev-parse", "--abbrev-ref", "HEAD"}, &facts.Commit: {"rev-parse", "HEAD"},
	} {
		*fact, _ = git(ctx, top, args...) // not there: not known
	}
	if name := env["GITHUB_EVENT_PATH"]; name != "" {
		if info, err := os.Stat(name); err == nil && info.Size() <= maxEvent {
			if facts.Event, err = os.ReadFile(name); err != nil {
				return "", c, fmt.Errorf("GITHUB_EVENT_PATH: %w", err)
			}
		}
	}
	c = ci.Detect(env, facts)
	if err := redoubt.CheckProjectName(c.Project); err != nil {
		return "", c, fmt.Errorf("the project would be %q: %w; set SEMGREP_REPO_NAME, as acme/payments", c.Project, err)
	}
	return top, c, nil
}

// git asks git, and returns what it answers without the line end, or why it did
// not.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	var ended *exec.ExitError
	if errors.As(err, &ended) && len(ended.Stderr) > 0 {
		err = fmt.Errorf("%s", bytes.TrimSpace(ended.Stderr))
	}
	return strings.TrimRight(string(out), "\r\n"), err
}

// Bounds of an inventory: files, as many as a request takes, and bytes of each
// and of all.
const (
	maxCIFiles = 1000
	maxCIFile  = 64 << 20
	maxCIBytes = 512 << 20
)

// inventory hands in every lockfile and bill of materials of the checkout, as
// all that there are.
func (b *build) inventory(ctx context.Context) error {
	if b.NoInventory {
		return nil
	}
	b.showStep("looking for lockfiles")
	names, err := b.inventoryPaths(ctx)
	if err != nil {
		return err
	}
	q := api.ImportQuery{Project: b.at.Project, Ref: b.at.Ref, Commit: b.at.Commit, RepoURL: b.at.URL, Whole: true}
	if len(names) > maxCIFiles {
		b.addTrouble(fmt.Errorf("the checkout has %d lockfiles: the first %d are sent, and no other counts as removed", len(names), maxCIFiles))
		names, q.Whole = names[:maxCIFiles], false
	}
	b.clearStep()
	included, err := pipIncludes(b.top, names)
	if err != nil {
		return err
	}
	files, room := []api.File{}, int64(maxCIBytes)
	for i, name := range append(names, included...) {
		f, err := b.read(name, i >= len(names) || lockfile.Is(name), &room)
		if err != nil {
			return err
		}
		if f != nil {
			files = append(files, *f)
		}
	}
	if len(files) == 0 && !q.Whole {
		return nil
	}
	b.showStep("handing in %d lockfiles and bills of materials", len(files))
	out, err := b.server.send(ctx, q, files)
	if err != nil {
		return fmt.Errorf("the inventory was not imported: %w", err)
	}
	b.addOutcome(*out)
	return nil
}

// read reads a file of the inventory; nil is a document that is no bill of
// materials after all. A lockfile that is too large goes without its text, so
// that what is known of it stays in force.
func (b *build) read(name string, lockfile bool, room *int64) (*api.File, error) {
	file := filepath.Join(b.top, filepath.FromSlash(name))
	info, err := os.Lstat(file)
	if err != nil {
		return nil, err
	}
	if info.Size() > min(maxCIFile, *room) {
		fmt.Fprintf(b.err, "redoubt ci: %s is skipped: it has %d bytes\n", name, info.Size())
		if lockfile {
			return &api.File{Name: name}, nil
		}
		return nil, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if *room -= int64(len(data)); lockfile {
		return &api.File{Name: name, Data: data}, nil
	}
	// Anything may be called bom.json, and one that is broken would take the
	// whole request with it.
	format, err := report.Detect(name, data[:min(len(data), 64<<10)])
	if err != nil || !slices.Contains(bomFormats, format) {
		fmt.Fprintf(b.err, "redoubt ci: %s is skipped: it is neither CycloneDX nor SPDX\n", name)
		return nil, nil //nolint:nilerr // what it is not was said
	}
	if err := new(report.Reading).Add(bytes.NewReader(data), report.Options{Name: name, Key: []byte(name)}); err != nil {
		fmt.Fprintln(b.err, "redoubt ci: left out:", err)
		return nil, nil
	}
	return &api.File{Name: name, Data: data}, nil
}

// inventoryPaths lists what is to be read, sorted: what git has or would add, but
// for what .semgrepignore names and what package managers unpacked.
func (b *build) inventoryPaths(ctx context.Context) ([]string, error) {
	all, err := b.paths(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the files of the checkout: %w", err)
	}
	ignored, err := semgrepIgnore(filepath.Join(b.top, ".semgrepignore"))
	if err != nil {
		return nil, err
	}
	var out []string
	for _, name := range all {
		if !lockfile.Is(name) && !isBOM(name) || isDependencyFolder(name) || glob.Match(ignored, name) {
			continue
		}
		// A link may lead anywhere.
		if info, err := os.Lstat(filepath.Join(b.top, filepath.FromSlash(name))); err == nil && info.Mode().IsRegular() {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func (b *build) paths(ctx context.Context) ([]string, error) {
	text, err := git(ctx, b.top, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err == nil {
		return strings.Split(strings.TrimSuffix(text, "\x00"), "\x00"), nil
	}
	var all []string
	err = filepath.WalkDir(b.top, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || isDependencyFolder(entry.Name()+"/x")):
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		name, err := filepath.Rel(b.top, file)
		all = append(all, filepath.ToSlash(name))
		return err
	})
	return all, err
}

// isDependencyFolder reports whether a path is of what a package manager has put there.
func isDependencyFolder(name string) bool {
	folders := strings.Split(path.Dir(name), "/")
	return slices.Contains(folders, "node_modules") || slices.Contains(folders, "vendor")
}

var bomFormats = []report.Format{report.CycloneDXJSON, report.CycloneDXXML, report.SPDXJSON}

// bomNames are how bills of materials are called.
var bomNames = []string{"bom.json", "bom.xml", "sbom.json", "sbom.xml", "*.cdx.json", "*.cdx.xml", "*.bom.json", "*.sbom.json", "*.spdx.json"}

func isBOM(name string) bool {
	return slices.ContainsFunc(bomNames, func(pattern string) bool {
		ok, err := path.Match(pattern, strings.ToLower(path.Base(name)))
		return ok && err == nil
	})
}

// semgrepIgnore reads the globs of a .semgrepignore. Its comments, includes and
// exceptions name no file to leave out.
func semgrepIgnore(name string) (globs redoubt.PathGlobs, err error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, ":") && (redoubt.PathGlobs{line}).Check() == nil {
			globs = append(globs, line)
		}
	}
	return globs, err
}

// reports hands in what other scanners wrote.
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
	b.showStep("handing in %d reports", len(files))
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
