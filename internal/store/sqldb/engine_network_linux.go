package sqldb

import (
	"strings"
	"syscall"
	"time"
)

// tcpUserTimeout is TCP_USER_TIMEOUT of Linux, which package syscall does not define.
const tcpUserTimeout = 18

// endUnacknowledged makes the system close a connection whose sent data is not acknowledged within
// a limit. This detects connections dropped by a firewall, which a probe on a new connection would
// miss.
func endUnacknowledged(limit time.Duration) func(network, address string, conn syscall.RawConn) error {
	return func(network, _ string, conn syscall.RawConn) error {
		if !strings.HasPrefix(network, "tcp") {
			return nil
		}
		return conn.Control(func(fd uintptr) {
			// Systems without the option ignore it.
			_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(limit.Milliseconds()))
		})
	}
}
