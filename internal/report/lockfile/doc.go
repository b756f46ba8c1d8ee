// Package lockfile reads what package managers write: the bytes of one file in,
// its inventory out, as a model.Report of the tool "lockfile".
//
// A row in the table of formats names the files that a reader reads; a file per
// family of ecosystems has its readers. They tell each package once, with its
// line, whether the project asks for it itself, and what else does, as far as the
// file says so. The files of one upload are read through one Upload, for those of
// pip refer to each other.
//
// Opening, inflating and bounding files, telling formats by their content, and
// errors for people are the report package's, which imports this one and never the
// other way round.
package lockfile
