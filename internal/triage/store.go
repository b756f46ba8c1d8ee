package triage

import (
	"context"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// Store contains the operations for triage within a transaction of one deployment.
type Store interface {
	// Now returns the time of the transaction.
	Now() time.Time
	// Actor returns the actor of the transaction.
	Actor() model.Actor
	// Member returns the member of the deployment with the name, as entered, or model.ErrNotFound.
	Member(ctx context.Context, name string) (model.Member, error)
	// Lineages returns lineages by ID.
	Lineages(ctx context.Context, ids []int64) (map[int64]model.Lineage, error)
	// UpdateTriage stores the After value of each event in its lineage and adds the event to the
	// history.
	UpdateTriage(ctx context.Context, events []model.TriageEvent) error
}

// Selector selects findings from the index at the version of the transaction.
type Selector interface {
	// Newest returns up to limit of the newest matches, in descending order of relevant_since and
	// ID.
	Newest(ctx context.Context, f model.FindingFilter, limit int) ([]model.Target, error)
	// Occurrences returns the IDs of all listed findings of the lineages with the issue type, on
	// all refs.
	Occurrences(ctx context.Context, t model.IssueType, lineages []int64) ([]int64, error)
}
