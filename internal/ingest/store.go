package ingest

import (
	"context"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// Store is what an import needs of one transaction of one deployment. All
// writes of an import are in it, so an upload counts whole or not at all.
type Store interface {
	// Now is the commit's clock value: the same throughout, rising from commit
	// to commit.
	Now() time.Time
	// Together may put off the writes of fn until its next read or its end.
	Together(ctx context.Context, fn func() error) error

	// ProjectForScan finds the project by its host's id, then by name or old
	// name; unknown, it creates it (docs/reference/projects.md). What the globs of the token
	// leave out is as if it were not there, here and in UpdateProjectByScan.
	ProjectForScan(ctx context.Context, globs model.ProjectGlobs, p model.Project) (model.Project, error)
	// Project finds the project of a scan that was added while it ran.
	Project(ctx context.Context, id int64) (model.Project, error)
	// UpdateProjectByScan takes over what a scan that counts tells of its
	// project: its new name where the host's id is known, and the URL, id and
	// tags that it brings.
	UpdateProjectByScan(
		ctx context.Context, globs model.ProjectGlobs, projectID int64, p model.Project,
	) (model.Project, error)
	// ScanApplied notes on the project that a scan was applied: when, and the
	// default branch if this is the first branch fully scanned.
	ScanApplied(ctx context.Context, projectID int64, ref string, full bool, at time.Time) error

	// Stream tells what stands on (project, ref, source).
	Stream(ctx context.Context, projectID int64, ref, source, commit string) (model.ScanStream, error)
	// AddScan stores the scan and returns its id.
	AddScan(ctx context.Context, s model.Scan) (int64, error)

	// FinishScan stores how a scan ended that was added while it ran.
	FinishScan(ctx context.Context, s model.Scan) error
	// SetScanCounts corrects what a scan of this transaction counts.
	SetScanCounts(ctx context.Context, scanID int64, counts model.FindingCounts) error
	// PutScanAccount keeps what the scan reported and what it did not look at.
	PutScanAccount(ctx context.Context, a model.ScanAccount) error
	// ScanAccount reads it; model.ErrNotFound where there is none.
	ScanAccount(ctx context.Context, scanID int64) (model.ScanAccount, error)
	// Findings reads all occurrences of (project, ref, source), removed and
	// fixed ones too.
	Findings(ctx context.Context, projectID int64, ref, source string) ([]model.Finding, error)
	// FindingBodies reads body and evidence of findings by id.
	FindingBodies(ctx context.Context, ids []int64) (map[int64]model.FindingWrite, error)
	// LineagesOf finds the lineages that hold the identities, in the project.
	LineagesOf(ctx context.Context, projectID int64, ids []model.Identity) (map[model.Identity]model.Lineage, error)
	// LiveOfLineages reads ref, source, path, state, identity and lineage of the live
	// findings of lineages, on all refs.
	LiveOfLineages(ctx context.Context, projectID int64, lineages []int64) (map[int64][]model.Finding, error)
	// Lineages reads lineages by id.
	Lineages(ctx context.Context, ids []int64) (map[int64]model.Lineage, error)

	// PutRules stores contents not seen before and returns the id of each, in
	// the order given. New names enter the default policy of their product,
	// with the mode they ask for, else monitor, not served (docs/reference/policies.md).
	PutRules(ctx context.Context, rules []*model.Rule) ([]int64, error)

	// RuleLanguages finds the languages of rules by name, of all their contents; none
	// where no content tells.
	RuleLanguages(ctx context.Context, names []string) (map[string][]string, error)

	// NewFindingIDs reserves n ids, which count up per deployment.
	NewFindingIDs(ctx context.Context, n int) ([]int64, error)
	NewLineageIDs(ctx context.Context, n int) ([]int64, error)

	AddLineages(ctx context.Context, lineages []model.Lineage) error
	// AddIdentities puts identities into lineages; one that was in another leaves that.
	AddIdentities(ctx context.Context, projectID int64, links []model.IdentityLink) error
	// MergeLineages re-hangs the identities, the findings of every ref and the
	// trails of merged lineages, and writes the annotations of those that stay.
	// Their triage follows through UpdateTriage, after this.
	MergeLineages(ctx context.Context, merges []model.LineageMerge) error
	AddFindings(ctx context.Context, findings []model.FindingWrite) error
	// UpdateFindings writes the rows anew; the body too where it is not nil.
	UpdateFindings(ctx context.Context, findings []model.FindingWrite) error
	AddEvents(ctx context.Context, events []model.FindingEvent) error
	// SplitTickets has tickets of findings that left their lineage name ones that stayed.
	SplitTickets(ctx context.Context, findings []int64) error
	// UpdateTriage writes the triage of the lineages and its trail.
	UpdateTriage(ctx context.Context, events []model.TriageEvent) error

	// RefreshScores writes the EPSS scores of what supply-chain findings on the refs are
	// about to their lineages, where they changed (docs/reference/advisories.md).
	RefreshScores(ctx context.Context, refs []model.ProjectRef) error

	// Supplement tells findings, by id, what they do not tell themselves.
	Supplement(ctx context.Context, known map[int64]model.Supplement) error

	// PutInventory makes the statement the one in force about its lockfile,
	// keeping the ids of rows that stay. An older or equal statement changes
	// nothing. It returns how many rows came and went.
	PutInventory(ctx context.Context, s model.InventoryStatement) (added, removed int, err error)
	// DropInventories removes what the source stated of the ref until a time, or
	// with no source what any did, but for the lockfiles to keep. It returns the
	// paths dropped, and how many dependencies went with them (docs/reference/lockfiles.md).
	DropInventories(ctx context.Context, projectID int64, ref, source string, until time.Time, keep []string) (
		paths []string, dependencies int, err error,
	)
}

// Exceptions is what an import needs of exceptions and VEX documents, in the
// transaction of its Store. It decides what both do to findings.
type Exceptions interface {
	// Reevaluate brings lineages in line with the exceptions and documents that
	// hold, and with them all that an exception ignores that has expired. Before it
	// reopens what people decided until a day that is over.
	Reevaluate(ctx context.Context, lineages []int64) error
	// PutVEX holds the documents of an upload in place of older ones of their names and
	// scopes, and brings the findings that either speaks of in line. It returns what became
	// of each, and refuses what it cannot hold.
	PutVEX(ctx context.Context, u model.VEXUpload) ([]model.VEXReceipt, model.Refusals, error)
}
