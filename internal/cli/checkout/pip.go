package checkout

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/redoubt/redoubt/internal/report/lockfile"
)

// maxPipFile bounds a requirements file that another refers to, in bytes.
const maxPipFile = 4 << 20

// PipIncludes lists what the requirements files among some files below a folder
// refer to, directly and through each other, but for those files themselves.
// What is not there, no file or outside of the folder is left out: who reads the
// files says so.
func PipIncludes(top string, names []string) (included []string, err error) {
	root, err := os.OpenRoot(top)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // nothing is written
	seen := map[string]bool{}
	for _, name := range names {
		seen[name] = true
	}
	queue := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !lockfile.IsRequirements(name) })
	for ; len(queue) > 0; queue = queue[1:] {
		text, err := pipText(root, queue[0])
		if err != nil {
			continue // it is said where the file is read
		}
		for _, name := range lockfile.PipReferences(queue[0], text) {
			if seen[name] {
				continue
			}
			seen[name] = true
			if _, err := pipText(root, name); err == nil {
				included, queue = append(included, name), append(queue, name)
			}
		}
	}
	return included, nil
}

func pipText(root *os.Root, name string) ([]byte, error) {
	info, err := root.Lstat(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxPipFile {
		return nil, errors.New("it is not a file, or too large")
	}
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxPipFile))
}
