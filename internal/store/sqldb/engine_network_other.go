//go:build !linux

package sqldb

import (
	"syscall"
	"time"
)

// endUnacknowledged does nothing, because only Linux supports the option.
func endUnacknowledged(time.Duration) func(network, address string, conn syscall.RawConn) error {
	return nil
}
