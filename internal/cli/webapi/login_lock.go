//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package webapi

import (
	"errors"
	"os"
	"syscall"
)

// tryLock locks a file until it is closed, if nobody else has. Where the file system
// has no locks nobody is kept out.
func tryLock(f *os.File) bool {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	return !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR)
}
