package api

// Headers of dialects, which are alternative formats of the same response.
const (
	// DialectHeader is the dialect of a request or response: contract or hosted. In a request it
	// overrides the token's dialect.
	DialectHeader = "Redoubt-Dialect"
	// FindingsHeader is the number of findings in a response and the member that contains them, for
	// example count=100, at="sastFindings.findings".
	FindingsHeader = "Redoubt-Findings"
	// LicensePolicyHeader is "none" if a request filters by a license policy: there is no such
	// policy, so no dependency is blocked.
	LicensePolicyHeader = "Redoubt-License-Policy"
)

// ChangesCursorHeader is the cursor in lists and exports of findings from which
// Client.FindingChanges continues. It is not sent for tokens that are restricted to projects.
const ChangesCursorHeader = "Redoubt-Changes-Cursor"
