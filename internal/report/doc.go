// Package report converts files of scanners and package managers to model.Report values. All input
// is untrusted: it is limited (see Limits), and secrets are removed (docs/reference/secrets.md). An
// incomplete file is an error without any report, because a partial report would close the missing
// findings.
package report
