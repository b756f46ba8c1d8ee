//go:build !unix

package runner

import "os/exec"

func ownGroup(*exec.Cmd) {}

func killGroup(int) {}

func lockDir(string) (release func() error, err error) {
	return func() error { return nil }, nil
}

func descendants(pid int) map[int]int64 { return map[int]int64{pid: 0} }

func bound() error { return nil }
