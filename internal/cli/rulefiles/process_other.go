//go:build !unix

package rulefiles

import (
	"os/exec"
	"time"
)

// endWithChildren limits the time that children of a killed command may keep its output open.
func endWithChildren(cmd *exec.Cmd) { cmd.WaitDelay = outputDelay }

// outputDelay is the maximum wait for output after a command has ended.
const outputDelay = 5 * time.Second
