package model

import "time"

// ExceptionCase is a lineage with all that decides whether exceptions or VEX
// statements cover it. The store reads it, internal/exceptions judges it.
type ExceptionCase struct {
	Lineage     Lineage
	Project     Project
	Occurrences []*ExceptionOccurrence
	NamedBy     []int64 // active exceptions that name the lineage, ascending
}

// ExceptionOccurrence is one occurrence of a lineage.
type ExceptionOccurrence struct {
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

// ExceptionScope selects the lineages that a change may concern: those of one of
// its members, within its bounds.
type ExceptionScope struct {
	Rules        []string // names of rules that find them
	Names        []string // of their vulnerability, in upper case; each stands for all of its aliases
	Dependencies bool     // that are about a vulnerability, if any VEX document is held
	Named        bool     // that active exceptions name
	Exempted     bool     // that an exception or a VEX document decided about last
	Actors       []Actor  // of Exempted those that one of these decided about

	Lineages []int64 // a bound: only of these; nil is none
	Projects []int64 // a bound: only of these projects; nil is none
}

// ExceptionMark is how far a deployment's findings are known to be as its
// exceptions and VEX documents say.
type ExceptionMark struct {
	Version     int64     // of the deployment
	TriageEvent int64     // the newest of the trail
	Advisories  int64     // version of the advisories
	At          time.Time // zero: never
}

// ExceptionChanges is what happened since a mark that no upload shows.
type ExceptionChanges struct {
	Since, Now ExceptionMark
	Unknown    bool     // it is not known any more: anything may have changed
	Projects   []int64  // that changed or lost a ref
	Lineages   []int64  // whose triage changed
	Names      []string // of vulnerabilities that have other aliases
}

// Moved reports whether anything at all was written since the mark.
func (c *ExceptionChanges) Moved() bool {
	since := c.Since
	since.At = c.Now.At
	return since != c.Now
}
