// Package triage decides about findings in bulk: selection, transition,
// propagation over refs, and the trail (docs/reference/triage.md).
//
// It answers no HTTP and writes no SQL; what it needs of both is declared here.
package triage
