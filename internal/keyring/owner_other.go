//go:build !unix

package keyring

import (
	"errors"
	"io/fs"
	"os"
)

// own does nothing: a file here belongs to the folder's owner.
func own(string, fs.FileInfo) error { return nil }

// renameAlone gives a file a name that none has.
func renameAlone(part, path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fs.ErrExist, err)
	}
	return os.Rename(part, path)
}
