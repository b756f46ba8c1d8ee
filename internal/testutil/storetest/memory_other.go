//go:build !linux

package storetest

// memoryDir knows no file system in memory here.
func memoryDir() string { return "" }
