//go:build unix

package rulefiles

import (
	"os/exec"
	"syscall"
	"time"
)

// endWithChildren has an interrupt end a command and all that it started: the
// scanner leaves its work to programs of its own.
func endWithChildren(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = outputDelay
}

// outputDelay is how long output is waited for once a command has ended.
const outputDelay = 5 * time.Second
