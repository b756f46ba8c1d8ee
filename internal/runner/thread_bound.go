//go:build linux && (amd64 || arm64)

package runner

import (
	"bytes"
	"os"
	"syscall"
)

// maxScanThreads is the maximum number of threads of all processes of a sandbox together.
const maxScanThreads = 4096

// initialMap is the user map of a process in the initial user namespace.
const initialMap = "0 0 4294967295"

// boundThreads limits the number of threads. The limit applies per user namespace. In the initial
// namespace, the count includes all processes of the user, so no limit is set.
func boundThreads() error {
	users, err := os.ReadFile("/proc/self/uid_map")
	if err != nil || string(bytes.Join(bytes.Fields(users), []byte(" "))) == initialMap {
		return nil //nolint:nilerr // a kernel without user namespaces
	}
	var now syscall.Rlimit
	if err := syscall.Getrlimit(rlimitThreads, &now); err != nil {
		return err
	}
	most := min(maxScanThreads, now.Max)
	return syscall.Setrlimit(rlimitThreads, &syscall.Rlimit{Cur: most, Max: most})
}

// rlimitThreads is RLIMIT_NPROC, which package syscall lacks.
const rlimitThreads = 6
