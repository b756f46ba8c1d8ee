//go:build !linux

package sqldb

import (
	"syscall"
	"time"
)

// endUnacknowledged does nothing: only Linux can be asked.
func endUnacknowledged(time.Duration) func(network, address string, conn syscall.RawConn) error {
	return nil
}
