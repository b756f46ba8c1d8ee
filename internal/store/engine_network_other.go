//go:build !linux

package store

import (
	"syscall"
	"time"
)

// endUnacknowledged does nothing: only Linux can be asked.
func endUnacknowledged(time.Duration) func(network, address string, conn syscall.RawConn) error {
	return nil
}
