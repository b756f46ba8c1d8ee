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

// Formats of files.
const (
	SemgrepJSON     = format.SemgrepJSON
	SARIF           = format.SARIF
	GitleaksJSON    = format.GitleaksJSON
	GitLabJSON      = format.GitLabJSON
	TrivyJSON       = format.TrivyJSON
	GrypeJSON       = format.GrypeJSON
	GovulncheckJSON = format.GovulncheckJSON
	TruffleHogJSON  = format.TruffleHogJSON
	OSVScannerJSON  = format.OSVScannerJSON
	PipAuditJSON    = format.PipAuditJSON
	NPMAuditJSON    = format.NPMAuditJSON
	CycloneDXJSON   = format.CycloneDXJSON
	CycloneDXXML    = format.CycloneDXXML
	SPDXJSON        = format.SPDXJSON
	OpenVEXJSON     = format.OpenVEXJSON
	Lockfile        = format.Lockfile
)

// IsNamesake reports whether a file only shares its name with a lockfile. See format.IsNamesake.
func IsNamesake(err error) bool { return format.IsNamesake(err) }
