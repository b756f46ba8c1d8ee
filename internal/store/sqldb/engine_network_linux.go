package sqldb

import (
	"strings"
	"syscall"
	"time"
)

// tcpUserTimeout is TCP_USER_TIMEOUT of Linux, which package syscall leaves out.
const tcpUserTimeout = 18

// endUnacknowledged has the system end a connection that data was sent on and
// that acknowledged none of it for so long, as one through a firewall that forgot
// it: asking on another connection would find nothing wrong.
func endUnacknowledged(limit time.Duration) func(network, address string, conn syscall.RawConn) error {
	return func(network, _ string, conn syscall.RawConn) error {
		if !strings.HasPrefix(network, "tcp") {
			return nil
		}
		return conn.Control(func(fd uintptr) {
			// One that does not know the option works without.
			_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(limit.Milliseconds()))
		})
	}
}
