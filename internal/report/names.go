package report

import "github.com/redoubt/redoubt/internal/report/format"

// What a caller says of a file, and is told of one that cannot be read. See package format.
type (
	Options   = format.Options
	Limits    = format.Limits
	Format    = format.Format
	FileError = format.FileError
)

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
