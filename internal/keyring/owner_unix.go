//go:build unix

package keyring

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// own sets the owner and group of a file to those of another.
func own(path string, like fs.FileInfo) error {
	is, known := like.Sys().(*syscall.Stat_t)
	now, err := os.Stat(path)
	if err != nil || !known {
		return err
	}
	if mine, ok := now.Sys().(*syscall.Stat_t); ok && mine.Uid == is.Uid && mine.Gid == is.Gid {
		return nil // some file systems reject even a chown without effect
	}
	return os.Chown(path, int(is.Uid), int(is.Gid))
}

// renameAlone renames a file and returns fs.ErrExist if the target exists. A lock on the folder
// excludes concurrent calls; it ends with its process.
func renameAlone(part, path string) error {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()                                                     // also unlocks it
	if err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX); err != nil { //nolint:gosec // a descriptor is small
		return err
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fs.ErrExist, err)
	}
	return os.Rename(part, path)
}
