//go:build !unix

package keyring

import (
	"errors"
	"io/fs"
	"os"
)

// own does nothing, because the folder determines the owner here.
func own(string, fs.FileInfo) error { return nil }

// renameAlone renames a file and returns fs.ErrExist if the target exists.
func renameAlone(part, path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fs.ErrExist, err)
	}
	return os.Rename(part, path)
}
