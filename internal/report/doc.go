// Package report reads what scanners and package managers wrote into model.Report.
//
// It detects the format of a file, has the package of its family read it, and joins the files of one
// upload. The packages know formats and nothing else: no store, no HTTP, no clock, no idea what is new
// or fixed. Every input is hostile: sizes, nesting, strings and paths are bounded (see Limits), and no
// secret leaves the package (docs/reference/secrets.md).
//
// A file that is not whole is an error and gives no report at all, for half a report would close
// findings that the other half holds. One bad item of a whole file is a model.Refusal.
package report
