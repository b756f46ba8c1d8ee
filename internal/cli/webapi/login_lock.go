//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package webapi

import (
	"errors"
	"os"
	"syscall"
)

// tryLock locks a file until it is closed and reports whether it succeeded. It also succeeds on
// file systems without locks.
func tryLock(f *os.File) bool {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	return !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR)
}
