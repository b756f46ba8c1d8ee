// Package exceptions decides the effect of exceptions and VEX statements on findings: coverage,
// precedence and reopening (docs/reference/triage.md). It parses no documents and contains no HTTP
// or SQL code. Store declares the storage that it needs.
package exceptions
