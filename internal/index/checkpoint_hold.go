//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package index

import (
	"errors"
	"os"
	"syscall"
)

// hold tells others, also other processes, that a file is being written, until it is
// let go or this process ends.
func hold(name string) (letGo func()) {
	f, err := os.Open(name)
	if err != nil {
		return func() {} // who removed it did not wait for this
	}
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_EX) // without locks its age tells
	return func() { _ = f.Close() }
}

// isAbandoned reports whether nobody holds a file; it is not known where there are no
// locks.
func isAbandoned(name string) (abandoned, known bool) {
	f, err := os.Open(name)
	if err != nil {
		return false, false
	}
	defer f.Close()
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	return err == nil, err == nil || errors.Is(err, syscall.EWOULDBLOCK)
}
