// Package e2e tests the whole program with real scanners, browsers and code hosts. The tests start
// the built program as a server and as commands. The type ciWorld in ci_world_test.go has a server,
// a checkout and a scanner.
package e2e
