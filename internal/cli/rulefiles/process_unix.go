//go:build unix

package rulefiles

import (
	"os/exec"
	"syscall"
	"time"
)

// endWithChildren makes cancellation kill a command and all its children. The scanner runs child
// processes.
func endWithChildren(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = outputDelay
}

// outputDelay is the maximum wait for output after a command has ended.
const outputDelay = 5 * time.Second
