//go:build unix

package runner

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// ownGroup starts a command in its own process group. Canceling its context kills the command and
// all of its descendants.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		for pid := range descendants(cmd.Process.Pid) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // the process may have ended
		}
		return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}

// killGroup kills the remaining processes in the group of an ended process.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) } // usually there are none

// lockDir locks a directory until release is called or the process ends. It fails if another runner
// has the lock.
func lockDir(dir string) (release func() error, err error) {
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another runner uses %s: use a separate folder for each runner",
			dir), file.Close())
	}
	return file.Close, nil
}

// descendants returns a process and its descendants with their resident memory in bytes. Without
// /proc it returns the process only.
func descendants(pid int) map[int]int64 {
	children := map[int][]int{}
	memory := map[int]int64{}
	entries, _ := os.ReadDir("/proc") // exists on Linux only
	for _, e := range entries {
		id, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		at := bytes.LastIndexByte(text, ')')
		if err != nil || at < 0 {
			continue
		}
		words := strings.Fields(string(text[at+1:])) // state, parent, …; the 22nd field is the number of resident pages
		if len(words) < 22 {
			continue
		}
		parent, _ := strconv.Atoi(words[1]) // always a number
		pages, _ := strconv.ParseInt(words[21], 10, 64)
		children[parent] = append(children[parent], id)
		memory[id] = pages * int64(os.Getpagesize())
	}
	all := map[int]int64{}
	for wait := []int{pid}; len(wait) > 0; {
		id := wait[0]
		wait = wait[1:]
		if _, known := all[id]; !known {
			all[id] = memory[id]
			wait = append(wait, children[id]...)
		}
	}
	return all
}

// bound sets resource limits that apply to the process and its children.
func bound() error {
	for resource, most := range map[int]uint64{
		syscall.RLIMIT_CORE:   0,
		syscall.RLIMIT_FSIZE:  maxScanFile,
		syscall.RLIMIT_NOFILE: maxScanOpen,
	} {
		var now syscall.Rlimit
		if err := syscall.Getrlimit(resource, &now); err != nil {
			return err
		}
		limit := syscall.Rlimit{Cur: min(most, now.Max), Max: min(most, now.Max)}
		if err := syscall.Setrlimit(resource, &limit); err != nil {
			return err
		}
	}
	return nil
}

// Resource limits of a scanner.
const (
	maxScanFile = 4 << 30 // bytes of a written file
	maxScanOpen = 4096    // open files
)
