package model

// Batch is a part of what an index is built from: everything, when read from
// version zero, else what changed since. Rows hold their present content, so
// the same batch twice does no harm.
type Batch struct {
	Projects    []Project
	Rules       []Rule
	Policies    []Policy
	PolicyRules []PolicyRule
	Lineages    []Lineage
	Findings    []IndexedFinding

	DeletedPolicies []int64 // with their lists of rules
	DeletedProjects []int64
	DeletedLineages []int64 // merged into another, or of a deleted project
	DeletedFindings []int64
}

// IndexedFinding is a finding with its body. What only scans compare (source,
// identity, rule name, line, hashes) and nobody reads in a list is left out.
type IndexedFinding struct {
	Finding
	Body []byte // see Body
}

// ChangeSet names what changed after a version: rows that are gone are among them. A row
// may be named more than once.
type ChangeSet struct {
	Version  int64 // at which it was read
	Findings IDRuns
	Lineages IDRuns
	Projects []int64
	Rules    []int64
	Policies bool

	PolicyRules bool // what rules are in policies
}
