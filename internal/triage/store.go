package triage

import (
	"context"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// Store is what a triage needs of one transaction of one deployment.
type Store interface {
	// Now is the commit's clock value.
	Now() time.Time
	// Actor is who the transaction acts for.
	Actor() model.Actor
	// Member finds a user who has a role in the deployment, by name as typed;
	// another one is model.ErrNotFound.
	Member(ctx context.Context, name string) (model.Member, error)
	// Lineages reads lineages by id.
	Lineages(ctx context.Context, ids []int64) (map[int64]model.Lineage, error)
	// UpdateTriage writes each event's After to its lineage and appends the
	// event to the trail.
	UpdateTriage(ctx context.Context, events []model.TriageEvent) error
}

// Selector answers from the index, as it stands at the transaction's version.
type Selector interface {
	// Newest returns the newest matches, at most limit, by relevant_since then
	// id, descending.
	Newest(ctx context.Context, f model.FindingFilter, limit int) ([]model.Target, error)
	// Occurrences returns the ids of all listed findings of the lineages, on
	// every ref, of that issue type.
	Occurrences(ctx context.Context, t model.IssueType, lineages []int64) ([]int64, error)
}
