// Package findings has the pages about findings: lists, one finding, triage, saved views, tickets, what blocks a scan,
// and the search. The address of a list is its whole state.
package findings
