// Package exceptions decides what exceptions and VEX statements do to findings:
// which lineages they cover, which of them wins, and when a finding is open again
// (docs/reference/triage.md).
//
// It reads no documents, answers no HTTP and writes no SQL. What it needs of the
// storage is declared in Store; what it judges is model.ExceptionCase.
package exceptions
