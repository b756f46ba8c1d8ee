package report

import "github.com/redoubt/redoubt/internal/report/format"

// Options say what is known of a file. See format.Options.
type Options = format.Options

// Limits bound what one file may hold. See format.Limits.
type Limits = format.Limits

// Format is a kind of file. See format.Format.
type Format = format.Format

// FileError says why a file as a whole cannot be read. See format.FileError.
type FileError = format.FileError

// Formats that callers name. Package format has them all.
const (
	SemgrepJSON   = format.SemgrepJSON
	GitleaksJSON  = format.GitleaksJSON
	CycloneDXJSON = format.CycloneDXJSON
	CycloneDXXML  = format.CycloneDXXML
	SPDXJSON      = format.SPDXJSON
	Lockfile      = format.Lockfile
)

// IsNamesake reports whether a file only shares its name with a lockfile. See format.IsNamesake.
func IsNamesake(err error) bool { return format.IsNamesake(err) }
