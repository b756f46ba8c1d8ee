package ingest

import "github.com/redoubt/redoubt/internal/model"

// ItemChange is the change of one finding by an upload.
type ItemChange string

// Changes of a finding. Unchanged findings are counted, not listed.
const (
	ItemNew       ItemChange = "new"
	ItemChanged   ItemChange = "changed" // other line, text or severity, or muted or unmuted
	ItemReturned  ItemChange = "returned"
	ItemMoved     ItemChange = "moved"   // new path, or its rule's text changed
	ItemClosed    ItemChange = "closed"  // fixed
	ItemRemoved   ItemChange = "removed" // its rule or path left the policy
	ItemUnchanged ItemChange = "unchanged"
)

// Item is one finding that an upload changed.
type Item struct {
	FindingID int64
	Rule      string
	Path      string
	Line      int // 1-based; 0 if unknown
	Change    ItemChange
	Muted     bool // in the code
}

func itemOf(f *model.Finding, change ItemChange) Item {
	return Item{
		FindingID: f.ID,
		Rule:      f.RuleName,
		Path:      f.Path,
		Line:      f.Line,
		Change:    change,
		Muted:     f.State == model.Muted,
	}
}

// Summary is the result of an upload.
type Summary struct {
	ProjectID int64
	Project   string
	Ref       string // in full
	Source    string
	// ScanID is the scan of the upload. For an exact repeat, it is the earlier scan.
	ScanID  int64
	Outcome model.ScanOutcome
	// Repeat reports whether the upload equals the latest applied one. Then nothing was written
	// (docs/reference/scans.md).
	Repeat bool

	New, Changed, Returned, Moved, Closed, Removed, Unchanged int

	// MoreLocations counts further places of secrets that a file contains more than once. A secret is
	// one finding per file (docs/reference/secrets.md).
	MoreLocations int

	// Items lists every changed finding, so its size is bounded by the stored and uploaded ones.
	// Closed and changed ones come first, in stored order, then new ones by position.
	Items []Item
	model.Refusals
	Counts model.FindingCounts

	// SkippedVulnerabilities counts the vulnerabilities of an SBOM that Redoubt wrote
	// (docs/reference/sbom.md).
	SkippedVulnerabilities int

	// StoredAs maps reported identities to stored ones if they differ, as for results without code.
	StoredAs map[model.Identity]model.KnownAs
	// Copies are findings of a recorded upload that would be copies if it were applied. Decisions
	// on their lineage do not apply to them (docs/explanation/identity.md).
	Copies []model.Identity

	Lockfiles           int      // number of lockfiles in the upload
	DependenciesAdded   int      // added rows of the inventory
	DependenciesRemoved int      // removed rows, of replaced or dropped lockfiles
	LockfilesDropped    []string // paths of dropped lockfiles

	VEX []model.VEXReceipt // receipts for the documents of the upload
	// ProposedMutes counts open findings that the report mutes outside of the code, in uploads
	// whose sender may not triage.
	ProposedMutes int

	// Advised contains the advisories' matches for the lockfiles of an upload that is recorded
	// only. They are not stored.
	Advised []Sighting

	// Followed contains the resulting changes by the advisories. It is nil if they were not
	// evaluated.
	Followed *Summary
}

// count adds items to the list and to the counters.
func (s *Summary) count(items []Item) {
	s.Items = append(s.Items, items...)
	counter := map[ItemChange]*int{
		ItemNew: &s.New, ItemChanged: &s.Changed, ItemReturned: &s.Returned,
		ItemMoved: &s.Moved, ItemClosed: &s.Closed, ItemRemoved: &s.Removed,
	}
	for _, item := range items {
		*counter[item.Change]++
	}
}

func moreLocations(sightings []Sighting) (n int) {
	for i := range sightings {
		n += sightings[i].more
	}
	return n
}

// countSightings counts distinct unmuted occurrences by product (docs/reference/scans.md).
func countSightings(sightings []Sighting) (c model.FindingCounts) {
	for i := range sightings {
		f := &sightings[i].Finding
		switch {
		case f.State == model.Muted:
		case f.IssueType == model.SCA:
			c.SupplyChain++
		case f.IssueType == model.Secrets:
			c.Secrets++
		default:
			c.Code++
		}
	}
	return c
}
