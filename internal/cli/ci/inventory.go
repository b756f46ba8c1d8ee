package ci

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/cli/checkout"
	"github.com/redoubt/redoubt/internal/glob"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/report/lockfile"
)

// Limits of an inventory: number of files in a request, and bytes of each file and of all files.
const (
	maxCIFiles = 1000
	maxCIFile  = 64 << 20
	maxCIBytes = 512 << 20
)

// inventory sends all lockfiles and bills of materials of the checkout as a complete inventory. If
// some cannot be read, missing lockfiles do not count as removed.
func (b *build) inventory(ctx context.Context) error {
	if b.NoInventory {
		return nil
	}
	b.showStep("searching for lockfiles")
	found := &ciInventory{build: b, remaining: maxCIBytes, complete: true}
	names, err := found.paths(ctx)
	if err != nil {
		return err
	}
	included, err := checkout.PipIncludes(b.top, names)
	if err != nil {
		return err
	}
	all := slices.Concat(names, included)
	b.clearStep()
	if len(all) > maxCIFiles {
		found.lose(
			fmt.Errorf("the checkout has %d lockfiles and bills of materials: only the first %d are sent", len(all), maxCIFiles),
		)
		all = all[:maxCIFiles]
	}
	for i, name := range all {
		found.read(name, i >= len(names) || lockfile.Is(name))
	}
	if len(found.files) == 0 && !found.complete {
		return nil
	}
	b.showStep("uploading %d lockfiles and bills of materials", len(found.files))
	out, err := b.server.send(ctx, api.ImportQuery{
		Project: b.at.Project, Ref: b.at.Ref, Commit: b.at.Commit, RepoURL: b.at.URL, Whole: found.complete,
	}, found.files)
	if err != nil {
		return fmt.Errorf("the inventory was not imported: %w", err)
	}
	b.addOutcome(*out)
	return nil
}

// ciInventory collects the files of an inventory.
type ciInventory struct {
	*build
	remaining int64 // remaining bytes
	complete  bool  // the inventory is complete
	files     []api.File
}

// lose records that the inventory is incomplete. An unreadable file may list any lockfile.
func (b *ciInventory) lose(why error) {
	b.complete = false
	b.addTrouble(fmt.Errorf("%w; no lockfile is marked as removed", why))
}

// read adds a file to the inventory. An unreadable lockfile is added without its content, so that
// its known dependencies stay unchanged.
func (b *ciInventory) read(name string, isLockfile bool) {
	data, err := b.text(name)
	switch {
	case err != nil && isLockfile:
		b.files = append(b.files, api.File{Name: name, Unread: err.Error()})
		return
	case err != nil:
		b.lose(fmt.Errorf("%s could not be read: %w", name, err))
		return
	case isLockfile && lockfile.IsNamesake(name, data):
		fmt.Fprintf(b.Err, "redoubt ci: %s is skipped: the content is not a lockfile\n", name)
		return
	case !isLockfile:
		// Files of other formats may be named bom.json, and an invalid file would make the whole
		// request fail.
		format, err := report.Detect(name, data[:min(len(data), checkout.DetectBytes)])
		if foreign, ok := errors.AsType[*report.ForeignError](err); ok {
			b.lose(fmt.Errorf("%s could not be read: %w", name, foreign))
			return
		}
		if err != nil || !slices.Contains(checkout.BOMFormats, format) {
			fmt.Fprintf(b.Err, "redoubt ci: %s is skipped: format is neither CycloneDX nor SPDX\n", name)
			return
		}
		if err := new(report.Reading).Add(bytes.NewReader(data), report.Options{Name: name, Key: []byte(name)}); err != nil {
			b.lose(err)
			return
		}
	}
	b.remaining -= int64(len(data))
	b.files = append(b.files, api.File{Name: name, Data: data})
}

// text reads a file within the size limits.
func (b *ciInventory) text(name string) ([]byte, error) {
	file := filepath.Join(b.top, filepath.FromSlash(name))
	info, err := os.Lstat(file)
	switch {
	case err != nil:
		return nil, checkout.Unreadable(err)
	case info.Size() > maxCIFile:
		return nil, fmt.Errorf("size is %d bytes, more than the limit of %d", info.Size(), maxCIFile)
	case info.Size() > b.remaining:
		return nil, fmt.Errorf("size is %d bytes, and the limit of %d for all files is reached",
			info.Size(), maxCIBytes)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, checkout.Unreadable(err)
	}
	return data, nil
}

// paths returns the sorted paths to read: tracked and untracked files that git does not ignore. It
// omits paths in .semgrepignore and dependency directories.
func (b *ciInventory) paths(ctx context.Context) ([]string, error) {
	all, err := b.checkoutPaths(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the files of the checkout: %w", err)
	}
	ignored, err := semgrepIgnore(filepath.Join(b.top, ".semgrepignore"))
	if err != nil {
		return nil, err
	}
	var out []string
	for _, name := range all {
		if !lockfile.Is(name) && !checkout.IsBOM(name) || checkout.IsDependencyFolder(name) || glob.Match(ignored, name) {
			continue
		}
		info, err := os.Lstat(filepath.Join(b.top, filepath.FromSlash(name)))
		switch {
		case err == nil && !info.Mode().IsRegular(): // links may point anywhere
			fmt.Fprintf(b.Err, "redoubt ci: %s is skipped: only regular files are read\n", name)
		case err == nil || !errors.Is(err, fs.ErrNotExist): // reading the file reports the error
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func (b *ciInventory) checkoutPaths(ctx context.Context) ([]string, error) {
	text, err := checkout.Git(ctx, b.top, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err == nil {
		return strings.Split(strings.TrimSuffix(text, "\x00"), "\x00"), nil
	}
	var all []string
	err = filepath.WalkDir(b.top, func(file string, entry fs.DirEntry, err error) error {
		name, relErr := filepath.Rel(b.top, file)
		switch {
		case relErr != nil:
			return relErr
		case err != nil:
			b.lose(fmt.Errorf("folder %s could not be read: %w", filepath.ToSlash(name), checkout.Unreadable(err)))
			return fs.SkipDir
		case entry.IsDir() && (entry.Name() == ".git" || checkout.IsDependencyFolder(entry.Name()+"/x")):
			return fs.SkipDir
		case !entry.IsDir():
			all = append(all, filepath.ToSlash(name))
		}
		return nil
	})
	return all, err
}

// semgrepIgnore reads the globs of a .semgrepignore file. Its comments, includes and exceptions are
// skipped.
func semgrepIgnore(name string) (globs model.PathGlobs, err error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, ":") && (model.PathGlobs{line}).Check() == nil {
			globs = append(globs, line)
		}
	}
	return globs, err
}
