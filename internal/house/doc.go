// Package house holds the rules of this repository as tests: which room may import which, who may reach the network, the
// database, the clock and the environment, how long files and functions may be, and what never stands in a tracked file.
//
// The rooms stand in rooms_test.go, one row each; the rules in rules_test.go, one function each. A rule that fails says
// what to do. To change a rule or add a room, change it here and in ARCHITECTURE.md in the same commit, with the reason.
//
// Border: tests only. It reads source text with go/parser and imports no other room.
package house
