package ingest

import (
	"context"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// Store provides the storage of an import within one transaction of one deployment. An upload is
// stored completely or not at all, because all its writes use the same transaction.
type Store interface {
	// Now returns the time of the transaction. It is constant within a transaction and increases
	// between transactions.
	Now() time.Time
	// Together may defer the writes of fn until its next read or its end.
	Together(ctx context.Context, fn func() error) error

	// ProjectForScan finds the project by its id at the host, then by name or former name. It
	// creates unknown projects (docs/reference/projects.md). Projects outside of the token's globs
	// are treated as missing, here and in UpdateProjectByScan.
	ProjectForScan(ctx context.Context, globs model.ProjectGlobs, p model.Project) (model.Project, error)
	// Project returns the project of a scan that was added while it ran.
	Project(ctx context.Context, id int64) (model.Project, error)
	// UpdateProjectByScan updates a project from an applied scan: its URL, id and tags, and its
	// name if the host's id is known.
	UpdateProjectByScan(
		ctx context.Context, globs model.ProjectGlobs, projectID int64, p model.Project,
	) (model.Project, error)
	// ScanApplied records the time of an applied scan in the project. It sets the default branch if
	// this is the first full scan of a branch.
	ScanApplied(ctx context.Context, projectID int64, ref string, full bool, at time.Time) error

	// Stream returns the state of scans of (project, ref, source).
	Stream(ctx context.Context, projectID int64, ref, source, commit string) (model.ScanStream, error)
	// AddScan stores the scan and returns its id.
	AddScan(ctx context.Context, s model.Scan) (int64, error)

	// FinishScan stores the end of a scan that was added while it ran.
	FinishScan(ctx context.Context, s model.Scan) error
	// SetScanCounts corrects the counts of a scan of this transaction.
	SetScanCounts(ctx context.Context, scanID int64, counts model.FindingCounts) error
	// PutScanAccount stores the reported findings and the gaps of a scan.
	PutScanAccount(ctx context.Context, a model.ScanAccount) error
	// ScanAccount returns the account of a scan, or model.ErrNotFound.
	ScanAccount(ctx context.Context, scanID int64) (model.ScanAccount, error)
	// Findings reads all occurrences of (project, ref, source), including removed and fixed ones.
	Findings(ctx context.Context, projectID int64, ref, source string) ([]model.Finding, error)
	// FindingBodies reads the bodies and evidence of findings by id.
	FindingBodies(ctx context.Context, ids []int64) (map[int64]model.FindingWrite, error)
	// LineagesOf returns the lineages of identities in the project.
	LineagesOf(ctx context.Context, projectID int64, ids []model.Identity) (map[model.Identity]model.Lineage, error)
	// LiveOfLineages reads the live findings of lineages on all refs. It sets only ref, source,
	// path, state, identity and lineage.
	LiveOfLineages(ctx context.Context, projectID int64, lineages []int64) (map[int64][]model.Finding, error)
	// Lineages reads lineages by id.
	Lineages(ctx context.Context, ids []int64) (map[int64]model.Lineage, error)

	// PutRules stores rules and returns the id of each, in the given order. New names are added to
	// the default policy of their product. Their mode is the requested one, or monitor, and they
	// are not served (docs/reference/policies.md).
	PutRules(ctx context.Context, rules []*model.Rule) ([]int64, error)

	// RuleLanguages returns the languages of rules by name, over all versions of their contents.
	// The list is empty if no version has one.
	RuleLanguages(ctx context.Context, names []string) (map[string][]string, error)

	// NewFindingIDs reserves n ids, which increase per deployment.
	NewFindingIDs(ctx context.Context, n int) ([]int64, error)
	NewLineageIDs(ctx context.Context, n int) ([]int64, error)

	AddLineages(ctx context.Context, lineages []model.Lineage) error
	// AddIdentities adds identities to lineages. An identity leaves its previous lineage.
	AddIdentities(ctx context.Context, projectID int64, links []model.IdentityLink) error
	// MergeLineages moves the identities, findings of every ref and histories of merged lineages to
	// the remaining ones. It also writes the annotations of the latter. UpdateTriage must be called
	// afterwards for their triage.
	MergeLineages(ctx context.Context, merges []model.LineageMerge) error
	AddFindings(ctx context.Context, findings []model.FindingWrite) error
	// UpdateFindings rewrites the rows, and their bodies if not nil.
	UpdateFindings(ctx context.Context, findings []model.FindingWrite) error
	AddEvents(ctx context.Context, events []model.FindingEvent) error
	// SplitTickets changes tickets of findings that left their lineage to refer to findings that
	// remained.
	SplitTickets(ctx context.Context, findings []int64) error
	// UpdateTriage writes the triage of the lineages and its history.
	UpdateTriage(ctx context.Context, events []model.TriageEvent) error

	// RefreshScores updates the EPSS scores of lineages with supply-chain findings on the refs, if
	// they changed (docs/reference/advisories.md).
	RefreshScores(ctx context.Context, refs []model.ProjectRef) error

	// Supplement adds missing data to findings, by id.
	Supplement(ctx context.Context, known map[int64]model.Supplement) error

	// PutInventory replaces the inventory of a lockfile and preserves the ids of unchanged
	// dependencies. An inventory that is older than the stored one changes nothing. With an equal
	// digest, only the source, scan, commit and time are updated. It returns the numbers of added
	// and removed dependencies.
	PutInventory(ctx context.Context, s model.InventoryStatement) (added, removed int, err error)
	// DropInventories removes the inventories that the source reported for the ref up to a time,
	// except for the lockfiles in keep. An empty source means all sources; lockfiles in container
	// images then remain. It returns the dropped paths and the number of removed dependencies
	// (docs/reference/lockfiles.md).
	DropInventories(ctx context.Context, projectID int64, ref, source string, until time.Time, keep []string) (
		paths []string, dependencies int, err error,
	)
}

// Exceptions applies exceptions and VEX documents to findings, in the transaction of its Store.
type Exceptions interface {
	// Reevaluate applies the exceptions and documents in force to lineages, and to all findings
	// ignored by expired exceptions. It first reopens findings whose decision was limited to a past
	// day.
	Reevaluate(ctx context.Context, lineages []int64) error
	// PutVEX stores the documents of an upload, replacing older ones of the same name and scope. It
	// updates the findings of both versions. It returns a receipt for each document and the refused
	// items.
	PutVEX(ctx context.Context, u model.VEXUpload) ([]model.VEXReceipt, model.Refusals, error)
}
