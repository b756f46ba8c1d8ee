package report

import "github.com/redoubt/redoubt/internal/report/format"

// Options describe a file to read. See format.Options.
type Options = format.Options

// Limits restrict the content of one file. See format.Limits.
type Limits = format.Limits

// Format is a file format. See format.Format.
type Format = format.Format

// FileError is the error for a file that cannot be read. See format.FileError.
type FileError = format.FileError

// Formats that callers use. Package format defines all of them.
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
