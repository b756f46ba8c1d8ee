package format

// Format is a file format that Read supports.
type Format string

// Supported file formats.
const (
	SemgrepJSON     Format = "semgrep-json"
	SARIF           Format = "sarif"
	GitleaksJSON    Format = "gitleaks-json"
	GitLabJSON      Format = "gitlab-json"
	TrivyJSON       Format = "trivy-json"
	GrypeJSON       Format = "grype-json"
	GovulncheckJSON Format = "govulncheck-json"
	TruffleHogJSON  Format = "trufflehog-json"
	OSVScannerJSON  Format = "osv-scanner-json"
	PipAuditJSON    Format = "pip-audit-json"
	NPMAuditJSON    Format = "npm-audit-json"
	BrakemanJSON    Format = "brakeman-json"
	CycloneDXJSON   Format = "cyclonedx-json"
	CycloneDXXML    Format = "cyclonedx-xml"
	SPDXJSON        Format = "spdx-json"
	OpenVEXJSON     Format = "openvex-json"
	Lockfile        Format = "lockfile"
)
