package ingest

import "github.com/redoubt/redoubt/internal/model"

// ItemChange says what an upload did to one finding.
type ItemChange string

// Changes of a finding. Unchanged findings are counted, not listed.
const (
	ItemNew       ItemChange = "new"
	ItemChanged   ItemChange = "changed" // other line, text, severity, or (un)muted
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
	Line      int // 1-based; 0 when unknown
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

// Summary says what an upload did, item by item.
type Summary struct {
	ProjectID int64
	Project   string // its name
	Ref       string // in full
	Source    string
	// ScanID is the scan that holds the upload: of an exact repeat, the earlier
	// one.
	ScanID  int64
	Outcome model.ScanOutcome
	// Repeat means that the upload is exactly the latest one that was applied,
	// so that nothing at all was written (docs/reference/scans.md).
	Repeat bool

	New, Changed, Returned, Moved, Closed, Removed, Unchanged int

	// MorePlaces counts what no item stands for: further places of secrets that a
	// file holds more than once, since a secret is one finding of a file
	// (docs/reference/secrets.md).
	MorePlaces int

	// Items lists every finding that changed, so it is bounded by what is
	// stored and uploaded: closed and changed ones by their stored order, then
	// new ones by position.
	Items []Item
	model.Refusals
	Counts model.FindingCounts

	// SkippedVulnerabilities counts those of an SBOM that Redoubt wrote (docs/reference/sbom.md).
	SkippedVulnerabilities int

	// Became tells of findings that the upload names otherwise than they are stored what
	// they are, as where it tells nothing of their code.
	Became map[model.Identity]model.KnownAs
	// Copies are findings of a recorded upload that would be copies if it counted: no
	// decision on their lineage is theirs (docs/explanation/identity.md).
	Copies []model.Identity

	Lockfiles           int      // stated by the upload
	DependenciesAdded   int      // rows of the inventory that came
	DependenciesRemoved int      // and went, in lockfiles stated anew or dropped
	LockfilesDropped    []string // paths that are gone

	VEX []model.VEXReceipt // what became of the documents of the upload
	// ProposedMutes counts findings that the report mutes outside of the code, and
	// that stay open, as who sent it may not triage.
	ProposedMutes int

	// Advised is what the advisories say of the lockfiles of an upload that is recorded
	// only; none of it is stored.
	Advised []Sighting

	// Followed is what the advisories changed because of it; nil when they were
	// not asked.
	Followed *Summary
}

// count adds the items up.
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

func morePlaces(sightings []Sighting) (n int) {
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
