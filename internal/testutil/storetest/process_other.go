//go:build !linux

package storetest

import "syscall"

// attributes returns the attributes for starting PostgreSQL. Here only Main stops it, and
// PostgreSQL itself rejects root.
func attributes(string) (*syscall.SysProcAttr, error) { return &syscall.SysProcAttr{}, nil }
