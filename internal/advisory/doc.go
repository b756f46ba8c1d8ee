// Package advisory knows what is known to be wrong with packages: it reads OSV
// records, groups those that are one vulnerability, and answers which versions
// of a package they affect, how badly, and what to upgrade to (docs/reference/advisories.md);
// EPSS scores and the catalogue of exploited vulnerabilities too.
//
// Its border: bytes and names in, matches out. It makes no finding (ingest
// does), knows no SQL and no HTTP, and declares the storage that it needs. The
// order of versions is handed in, as Orders.
package advisory

// Order orders the versions of one ecosystem.
type Order interface {
	// Compare returns -1, 0 or 1 as a comes before b, is it, or comes after.
	Compare(a, b string) int
	// Scale parses versions, each distinct one once, and returns where any
	// version stands among them: 2i+1 if it is the i-th lowest, 2i if it lies
	// below that and above the one before. What is not a version there has place
	// 0 and is not ok.
	Scale(versions []string) func(version string) (place int, ok bool)
}

// Orders gives the order of an ecosystem.
type Orders func(ecosystem string) Order
