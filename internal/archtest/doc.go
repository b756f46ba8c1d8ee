// Package archtest tests the structure of this repository.
// It reads the packages and their layers from the table in ARCHITECTURE.md and parses the source text.
// lists_test.go contains the other lists, such as confined libraries and readers of the clock. No rule has exceptions.
package archtest
