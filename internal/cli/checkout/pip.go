package checkout

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/redoubt/redoubt/internal/report/lockfile"
)

// maxPipFile is the maximum size of an included requirements file in bytes.
const maxPipFile = 4 << 20

// PipIncludes returns the files that requirements files in top include, directly or indirectly,
// except the given ones. Missing files, files outside of top and non-regular files are omitted;
// reading them reports the error.
func PipIncludes(top string, names []string) (included []string, err error) {
	root, err := os.OpenRoot(top)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // read only
	seen := map[string]bool{}
	for _, name := range names {
		seen[name] = true
	}
	queue := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !lockfile.IsRequirements(name) })
	for ; len(queue) > 0; queue = queue[1:] {
		text, err := pipText(root, queue[0])
		if err != nil {
			continue // reading the file reports the error
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
		return nil, errors.New("not a regular file, or too large")
	}
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxPipFile))
}
