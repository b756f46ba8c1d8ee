//go:build !linux

package storetest

// memoryDir returns "": no in-memory file system is known here.
func memoryDir() string { return "" }
