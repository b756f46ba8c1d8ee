package exceptions

import (
	"context"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// Store is what exceptions need of one transaction of one deployment.
type Store interface {
	// Now is the commit's clock value.
	Now() time.Time
	// Actor is who the transaction acts for.
	Actor() model.Actor

	// Exceptions lists the active exceptions by id, without the findings that they name, and with
	// those that expired until EndExpiredExceptions.
	Exceptions(ctx context.Context) ([]model.Exception, error)
	// Exception finds one by its id; an unknown one is model.ErrNotFound.
	Exception(ctx context.Context, id int64) (model.Exception, error)
	// AddException stores an exception and returns it with its id, its maker and its time.
	AddException(ctx context.Context, e model.Exception) (model.Exception, error)
	// DecideException writes another state of an exception, for the audit trail with a verb.
	DecideException(ctx context.Context, verb string, before, e model.Exception) (model.Exception, error)
	// EndExpiredExceptions notes the end of exceptions whose time is over.
	EndExpiredExceptions(ctx context.Context) error

	// LineagesStillOpen are those of the lineages that are open on some ref.
	LineagesStillOpen(ctx context.Context, ids []int64) ([]int64, error)
	// RequestedExceptions finds the request about each of some lineages, by lineage.
	RequestedExceptions(ctx context.Context, lineages []int64) (map[int64]int64, error)
	// RequestCounts counts the requests of a user that wait or were withdrawn lately, 0
	// being the actor, and all that wait.
	RequestCounts(ctx context.Context, creatorID int64) (own, all int, err error)
	// Lineages reads lineages by id.
	Lineages(ctx context.Context, ids []int64) (map[int64]model.Lineage, error)
	// TriageEventsBy lists the newest line that an actor left in the trail of each of some lineages.
	TriageEventsBy(ctx context.Context, by model.Actor, lineages []int64) ([]model.TriageEvent, error)

	// CountVEX counts the documents that are held, or those that are proposed.
	CountVEX(ctx context.Context, proposed bool) (int, error)
	// HeldVEX finds the document of the same name and scope, with its statements;
	// where there is none it is model.ErrNotFound.
	HeldVEX(ctx context.Context, d model.VEXDocument) (model.VEXDocument, error)
	// VEXDocument reads a document with its statements; an unknown one is
	// model.ErrNotFound.
	VEXDocument(ctx context.Context, id int64) (model.VEXDocument, error)
	// SaveVEX stores a document, in place of the one that is held where that has
	// an id, and returns its id.
	SaveVEX(ctx context.Context, d, held model.VEXDocument) (int64, error)
	// DeleteVEX forgets a document.
	DeleteVEX(ctx context.Context, d model.VEXDocument) error
	// EndVEX forgets what a document says, and keeps that there was one and its answer.
	EndVEX(ctx context.Context, d model.VEXDocument, state model.ExceptionState, answer string) error
	// VEXProposals lists what is proposed of a project, the oldest first.
	VEXProposals(ctx context.Context, projectID int64) ([]model.Exception, error)
	// ProposedVEXBytes is how many bytes all proposals of the deployment say.
	ProposedVEXBytes(ctx context.Context) (int64, error)
	// MostVEXProposals is VEXProposals of the project that has most documents, or
	// whose documents say most.
	MostVEXProposals(ctx context.Context, byBytes bool) ([]model.Exception, error)
	// RefusedVEX returns which statements were refused of a project, by their ids.
	RefusedVEX(ctx context.Context, projectID int64, ids []string) (map[string]bool, error)
	// RefuseVEX remembers that statements of a proposed document were refused.
	RefuseVEX(ctx context.Context, d model.VEXDocument, ids []string) error

	// ExceptionCandidates lists the lineages of a scope, ascending, each once.
	ExceptionCandidates(ctx context.Context, scope model.ExceptionScope) ([]int64, error)
	// ExceptionCases reads lineages with what decides about them; unknown ones are
	// not in the answer.
	ExceptionCases(ctx context.Context, lineages []int64) ([]model.ExceptionCase, error)

	// ExpireDecisions reopens what was decided until a time that is over, and
	// returns the lineages.
	ExpireDecisions(ctx context.Context) ([]int64, error)
	// UpdateTriage writes each event's After to its lineage and appends the event
	// to the trail.
	UpdateTriage(ctx context.Context, events []model.TriageEvent) error

	// ExceptionChanges returns what happened since the mark that was saved last.
	ExceptionChanges(ctx context.Context) (model.ExceptionChanges, error)
	SaveExceptionMark(ctx context.Context, mark model.ExceptionMark) error
}
