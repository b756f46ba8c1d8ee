package exemption

import (
	"context"
	"time"

	"github.com/redoubt/redoubt"
)

// Store is what exemptions need of one transaction of one deployment.
type Store interface {
	// Now is the commit's clock value.
	Now() time.Time
	// Actor is who the transaction acts for.
	Actor() redoubt.Actor

	// Exceptions lists all exceptions by id, expired ones too.
	Exceptions(ctx context.Context) ([]redoubt.Exception, error)
	// Exception finds one by its id; an unknown one is redoubt.ErrNotFound.
	Exception(ctx context.Context, id int64) (redoubt.Exception, error)
	// InsertException stores an exception and returns its id.
	InsertException(ctx context.Context, e redoubt.Exception) (int64, error)
	DeleteException(ctx context.Context, e redoubt.Exception) error

	// CountVEX counts the documents that are held, or those that are proposed.
	CountVEX(ctx context.Context, proposed bool) (int, error)
	// HeldVEX finds the document of the same name and scope, with its statements;
	// where there is none it is redoubt.ErrNotFound.
	HeldVEX(ctx context.Context, d redoubt.VEXDocument) (redoubt.VEXDocument, error)
	// VEXDocument reads a document with its statements; an unknown one is
	// redoubt.ErrNotFound.
	VEXDocument(ctx context.Context, id int64) (redoubt.VEXDocument, error)
	// SaveVEX stores a document, in place of the one that is held where that has
	// an id, and returns its id.
	SaveVEX(ctx context.Context, d, held redoubt.VEXDocument) (int64, error)
	DeleteVEX(ctx context.Context, d redoubt.VEXDocument) error
	// VEXProposals lists what is proposed of a project, the oldest first.
	VEXProposals(ctx context.Context, projectID int64) ([]redoubt.VEXHolding, error)
	// ProposedVEXBytes is how many bytes all proposals of the deployment say.
	ProposedVEXBytes(ctx context.Context) (int64, error)
	// MostVEXProposals is VEXProposals of the project that has most documents, or
	// whose documents say most.
	MostVEXProposals(ctx context.Context, byBytes bool) ([]redoubt.VEXHolding, error)
	// RefusedVEX tells which statements were refused of a project, by their ids.
	RefusedVEX(ctx context.Context, projectID int64, ids []string) (map[string]bool, error)
	// RefuseVEX remembers that statements of a proposed document were refused.
	RefuseVEX(ctx context.Context, d redoubt.VEXDocument, ids []string) error

	// ExemptionCandidates lists the lineages of a scope, ascending, each once.
	ExemptionCandidates(ctx context.Context, scope redoubt.ExemptionScope) ([]int64, error)
	// ExemptionCases reads lineages with what decides about them; unknown ones are
	// not in the answer.
	ExemptionCases(ctx context.Context, lineages []int64) ([]redoubt.ExemptionCase, error)

	// ExpireDecisions reopens what was decided until a time that is over, and
	// returns the lineages.
	ExpireDecisions(ctx context.Context) ([]int64, error)
	// UpdateTriage writes each event's After to its lineage and appends the event
	// to the trail.
	UpdateTriage(ctx context.Context, events []redoubt.TriageEvent) error

	// ExemptionChanges tells what happened since the mark that was saved last.
	ExemptionChanges(ctx context.Context) (redoubt.ExemptionChanges, error)
	SaveExemptionMark(ctx context.Context, mark redoubt.ExemptionMark) error
}
