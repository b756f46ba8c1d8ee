// Package checkpoint reads and writes the files that the index starts from: a directory of named sections with
// checksums, and packed values within the sections. The meaning of the sections is defined by package index.
package checkpoint
