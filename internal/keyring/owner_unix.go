//go:build unix

package keyring

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// own gives a file the owner and group of another.
func own(path string, like fs.FileInfo) error {
	is, known := like.Sys().(*syscall.Stat_t)
	now, err := os.Stat(path)
	if err != nil || !known {
		return err
	}
	if mine, ok := now.Sys().(*syscall.Stat_t); ok && mine.Uid == is.Uid && mine.Gid == is.Gid {
		return nil // which not every file system lets say again
	}
	return os.Chown(path, int(is.Uid), int(is.Gid))
}

// renameAlone gives a file a name that none has. Who else would take it meanwhile
// waits for the lock on the folder, which ends with its process.
func renameAlone(part, path string) error {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()                                                     // which unlocks it
	if err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX); err != nil { //nolint:gosec // a descriptor is small
		return err
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fs.ErrExist, err)
	}
	return os.Rename(part, path)
}
