// Package archtest tests the structure of this repository. It reads the packages and their layers
// from the table in ARCHITECTURE.md, and parses the source. lists_test.go contains further lists;
// no rule has exceptions.
package archtest
