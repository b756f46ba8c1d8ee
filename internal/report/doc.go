// Package report converts files of scanners and package managers to model.Report values, with one
// reader package per family of formats. It has no storage, HTTP or clock. All input is untrusted:
// sizes, nesting, strings and paths are limited (see Limits), and secrets are removed
// (docs/reference/secrets.md).
//
// An incomplete file is an error without any report, because a partial report would close the
// missing findings. A single invalid item is a model.Refusal.
package report
