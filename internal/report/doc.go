// Package report reads what scanners and package managers wrote: bytes in,
// model.Report out.
//
// It knows formats and nothing else: no store, no HTTP, no clock, no idea what
// is new or fixed. A file per format holds its reader; those of lockfiles are a
// package of their own, lockfile. Scanner reports are
// streamed item by item; bills of materials and lockfiles, which are small,
// are read whole. Every input is taken to be hostile: sizes, nesting, strings
// and paths are bounded (see Limits), and raw secrets never leave the package
// (semantics §16).
//
// A file that is not whole is an error and gives no report at all, for half a
// report would close findings that the other half holds. One bad item of a
// whole file is a model.Refusal, and the others survive it.
package report
