// Package findings implements the operations on findings: lists, counts, exports, changes, triage,
// comments, saved views and tickets.
package findings
