// Package findings serves the pages about findings: lists, single findings, triage, saved views,
// tickets, failed gates, and the search. The address of a list contains its whole state.
package findings
