package storetest

import (
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// The in-memory file system of Linux, and the free space required for the databases of two packages
// at once.
const (
	memory     = "/dev/shm"
	memoryFree = 2 << 30 // bytes
)

// memoryDir creates a directory in memory, or returns "" if there is not enough space. The
// directory is locked while this process lives. It removes directories of killed processes.
func memoryDir() string {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(memory, &fs); err != nil || int64(fs.Bavail)*fs.Bsize < memoryFree {
		return ""
	}
	left, _ := filepath.Glob(memory + "/redoubt-test-*") // the pattern is valid
	for _, dir := range left {
		// A new directory may not be locked yet.
		if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > time.Minute && lock(dir) {
			_ = os.RemoveAll(dir) // on failure it belongs to another user
		}
	}
	dir, err := os.MkdirTemp(memory, "redoubt-test-")
	if err != nil || os.Chmod(dir, 0o755) != nil || !lock(dir) { // PostgreSQL runs as another user
		return ""
	}
	return dir
}

// lock locks a directory until this process ends, and reports whether it succeeded.
func lock(dir string) bool {
	fd, err := syscall.Open(dir, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	if err := syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = syscall.Close(fd) // it was only read
		return false
	}
	return true
}
