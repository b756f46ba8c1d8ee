package storetest

import (
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Where Linux has a file system in memory, and how much of it must be free for
// two packages' databases at once.
const (
	memory     = "/dev/shm"
	memoryFree = 2 << 30 // bytes
)

// memoryDir makes a folder in memory, where there is enough of it, or returns an
// empty name. The folder is locked as long as this process lives: what one left
// behind that was killed goes with the next.
func memoryDir() string {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(memory, &fs); err != nil || int64(fs.Bavail)*fs.Bsize < memoryFree {
		return ""
	}
	left, _ := filepath.Glob(memory + "/redoubt-test-*") // the pattern is well formed
	for _, dir := range left {
		// A young one may be about to be locked.
		if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > time.Minute && lock(dir) {
			_ = os.RemoveAll(dir) // it is somebody else's if that fails
		}
	}
	dir, err := os.MkdirTemp(memory, "redoubt-test-")
	if err != nil || os.Chmod(dir, 0o755) != nil || !lock(dir) { // PostgreSQL runs as another user
		return ""
	}
	return dir
}

// lock locks a folder until this process ends, and tells whether it could.
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
