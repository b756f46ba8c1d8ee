package imports

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/cli/checkout"
	"github.com/redoubt/redoubt/internal/report/lockfile"
)

// importFile is a file to import: its path on disk and its name in the import.
type importFile struct {
	disk, name string
	found      bool // found in a directory or included by another file, instead of named
}

// files returns the named files, the inventory of named directories, and the files that
// requirements files include. Errors in directories are recorded in reader.
func (c Command) files(reader *importReader) (list []importFile, err error) {
	for _, name := range c.Files {
		info, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			list = append(list, importFile{disk: name, name: name})
			continue
		}
		found, err := inventoryOf(name, reader)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			list = append(list, importFile{disk: f, name: f, found: true})
		}
	}
	list = eachOnce(list)
	if len(list) == 0 {
		return nil, reader.none("nothing to import: the folder contains no lockfiles or bills of materials")
	}
	if c.Format != "" {
		return list, nil
	}
	return c.withPipIncludes(list)
}

// eachOnce removes duplicates. A file that is named and also in a named directory counts as named.
func eachOnce(list []importFile) (out []importFile) {
	at := map[string]int{}
	for _, f := range list {
		file := filepath.Clean(f.disk)
		n, listed := at[file]
		switch {
		case !listed:
			at[file], out = len(out), append(out, f)
		case !f.found:
			out[n] = f
		}
	}
	return out
}

// withPipIncludes adds the files that requirements files include, and sets their names to paths in
// the repository.
func (c Command) withPipIncludes(list []importFile) ([]importFile, error) {
	names := []string{}
	for i, f := range list {
		if !lockfile.IsRequirements(f.name) {
			continue
		}
		name := filepath.ToSlash(filepath.Clean(f.name))
		if c.Root != "" || !filepath.IsLocal(f.name) {
			top, name, err := locate(f.disk, c.Root)
			if err != nil {
				return nil, err
			}
			list[i].name = name
			included, err := checkout.PipIncludes(top, []string{name})
			if err != nil {
				return nil, err
			}
			list = appendMissing(list, top, included)
			continue
		}
		names = append(names, name)
	}
	included, err := checkout.PipIncludes(".", names)
	return appendMissing(list, ".", included), err
}

// locate returns the directory of the repository and the path of a file in it. The directory is
// root if it is set, or else the file's own directory.
func locate(file, root string) (top, name string, err error) {
	if root == "" {
		return filepath.Dir(file), filepath.Base(file), nil
	}
	if file, err = filepath.Abs(file); err != nil {
		return "", "", err
	}
	if root, err = filepath.Abs(root); err != nil {
		return "", "", err
	}
	if rel, err := filepath.Rel(root, file); err == nil && filepath.IsLocal(rel) {
		return root, filepath.ToSlash(rel), nil
	}
	return filepath.Dir(file), filepath.Base(file), nil
}

func appendMissing(list []importFile, top string, names []string) []importFile {
	for _, name := range names {
		f := importFile{filepath.Join(top, filepath.FromSlash(name)), name, true}
		if !slices.ContainsFunc(list, func(has importFile) bool { return filepath.Clean(has.disk) == f.disk }) {
			list = append(list, f)
		}
	}
	return list
}

// inventoryOf returns the lockfiles and bills of materials in a directory, without dependency
// directories. Links and other non-regular files are recorded and omitted: they may point anywhere
// or never end.
func inventoryOf(folder string, reader *importReader) (names []string, err error) {
	top := strings.TrimRight(folder, "/") + "/" // the slash follows a named link
	err = filepath.WalkDir(top, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			reader.leaveOut(file, file, checkout.Unreadable(err), false)
			return fs.SkipDir
		case entry.IsDir() && file != top && (entry.Name() == ".git" || checkout.IsDependencyFolder(entry.Name()+"/x")):
			return fs.SkipDir
		case entry.IsDir() || !lockfile.Is(entry.Name()) && !checkout.IsBOM(entry.Name()):
		case entry.Type().IsRegular():
			names = append(names, filepath.Clean(file))
		default:
			reader.passed = append(reader.passed, filepath.Clean(file))
		}
		return reader.strictly()
	})
	return names, err
}
