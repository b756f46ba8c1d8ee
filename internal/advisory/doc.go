// Package advisory reads OSV records, EPSS scores and the catalog of exploited vulnerabilities, and
// matches them with dependencies (docs/reference/advisories.md). It returns matches, from which
// package ingest creates findings. It contains no SQL or HTTP code; callers provide the version
// orders as Orders.
package advisory

// Order orders the versions of one ecosystem.
type Order interface {
	// Compare returns -1 if a precedes b, 0 if they are equal, and 1 otherwise.
	Compare(a, b string) int
	// Scale parses the distinct versions once and returns a function that positions any version among
	// them. The position is 2i+1 for the i-th lowest version, and 2i for a version directly below it.
	// For an invalid version, the position is 0 and ok is false.
	Scale(versions []string) func(version string) (position int, ok bool)
}

// Orders returns the order of an ecosystem.
type Orders func(ecosystem string) Order
