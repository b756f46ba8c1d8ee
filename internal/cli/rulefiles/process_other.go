//go:build !unix

package rulefiles

import (
	"os/exec"
	"time"
)

// endWithChildren bounds how long a child of a command that was ended may keep
// its output open.
func endWithChildren(cmd *exec.Cmd) { cmd.WaitDelay = outputDelay }

// outputDelay is how long output is waited for once a command has ended.
const outputDelay = 5 * time.Second
