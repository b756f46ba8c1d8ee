package api

// Headers of dialects: answers of the same request in other shapes.
const (
	// DialectHeader names the dialect of a request, contract or hosted, in the
	// place of that of its token; an answer's says in which it is.
	DialectHeader = "Redoubt-Dialect"
	// FindingsHeader says how many findings an answer holds and at which member,
	// as count=100, at="sastFindings.findings".
	FindingsHeader = "Redoubt-Findings"
	// LicensePolicyHeader is none where a request filters by a license policy:
	// there is none, so it blocks no dependency.
	LicensePolicyHeader = "Redoubt-License-Policy"
)

// ChangesCursorHeader is of lists and exports of findings: the cursor with which
// Client.FindingChanges tells all that changed since. Tokens that are bound to projects get none.
const ChangesCursorHeader = "Redoubt-Changes-Cursor"
