//go:build !linux

package storetest

import "syscall"

// attributes returns how to start a program of PostgreSQL. Here nothing but
// Main ends it, and a root user is refused by PostgreSQL itself.
func attributes(string) (*syscall.SysProcAttr, error) { return &syscall.SysProcAttr{}, nil }
