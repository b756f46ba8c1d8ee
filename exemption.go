package redoubt

import "time"

// ExemptionCase is a lineage with all that tells whether exceptions or VEX
// statements cover it. The store reads it, internal/exemption judges it.
type ExemptionCase struct {
	Lineage     Lineage
	Project     Project
	Occurrences []*ExemptionOccurrence
}

// ExemptionOccurrence is one occurrence of a lineage.
type ExemptionOccurrence struct {
	Ref   string
	Rule  string
	Names []string // of its vulnerability, all of them, in upper case
	Paths []string // where it shows, and its lockfile
	State State

	Ecosystem, Package, Version string     // of what is vulnerable; empty in code
	Claims                      []VEXClaim // of its vulnerability, whatever they are for
}

// VEXClaim is a statement and the document that makes it.
type VEXClaim struct {
	Document  *VEXDocument
	Statement *VEXStatement
}

// ExemptionScope selects the lineages that a change may concern: those of one of
// its members, within its bounds.
type ExemptionScope struct {
	Rules        []string // names of rules that find them
	Names        []string // of their vulnerability, in upper case; each stands for all of its aliases
	Dependencies bool     // that are about a vulnerability, if any VEX document is held
	Exempted     bool     // that an exception or a VEX document decided about last
	Actors       []Actor  // of Exempted those that one of these decided about

	Lineages []int64 // a bound: only of these; nil is none
	Projects []int64 // a bound: only of these projects; nil is none
}

// ExemptionMark is how far a deployment's findings are known to be as its
// exceptions and VEX documents say.
type ExemptionMark struct {
	Version     int64     // of the deployment
	TriageEvent int64     // the newest of the trail
	Advisories  int64     // version of the advisories
	At          time.Time // zero: never
}

// ExemptionChanges is what happened since a mark that no upload shows.
type ExemptionChanges struct {
	Since, Now ExemptionMark
	Unknown    bool     // it is not known any more: anything may have changed
	Projects   []int64  // that changed or lost a ref
	Lineages   []int64  // whose triage changed
	Names      []string // of vulnerabilities that have other aliases
}

// Moved reports whether anything at all was written since the mark.
func (c *ExemptionChanges) Moved() bool {
	since := c.Since
	since.At = c.Now.At
	return since != c.Now
}
