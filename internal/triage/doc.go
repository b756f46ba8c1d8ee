// Package triage applies triage decisions to selected findings on all refs and records their
// history (docs/reference/triage.md). It contains neither HTTP nor SQL code.
package triage
