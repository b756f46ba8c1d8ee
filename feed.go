package redoubt

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

// IndexedFinding is a finding with its body.
type IndexedFinding struct {
	Finding
	Body []byte // see Body
}
