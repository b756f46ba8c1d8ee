// Package checkpoint reads and writes the files from which the index starts. A file contains a
// directory of named sections with checksums, and packed values within the sections. Package index
// defines the meaning of the sections.
package checkpoint
