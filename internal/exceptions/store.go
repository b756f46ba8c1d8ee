package exceptions

import (
	"context"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// Store provides the storage of exceptions in one transaction of one deployment.
type Store interface {
	// Now returns the time of the transaction.
	Now() time.Time
	// Actor returns the actor of the transaction.
	Actor() model.Actor

	// Exceptions returns the active exceptions by id, without the findings that they list. Expired
	// ones are included until EndExpiredExceptions.
	Exceptions(ctx context.Context) ([]model.Exception, error)
	// Exception returns an exception, or model.ErrNotFound.
	Exception(ctx context.Context, id int64) (model.Exception, error)
	// AddException stores an exception and returns it with its id, creator and time.
	AddException(ctx context.Context, e model.Exception) (model.Exception, error)
	// DecideException changes the state of an exception. The verb is recorded in the audit log.
	DecideException(ctx context.Context, verb string, before, e model.Exception) (model.Exception, error)
	// EndExpiredExceptions marks exceptions as ended whose end has passed.
	EndExpiredExceptions(ctx context.Context) error

	// LineagesStillOpen returns the lineages that are open on some ref.
	LineagesStillOpen(ctx context.Context, ids []int64) ([]int64, error)
	// RequestedExceptions returns the ids of open requests by lineage.
	RequestedExceptions(ctx context.Context, lineages []int64) (map[int64]int64, error)
	// RequestCounts counts the open and recently withdrawn requests of a user, and all open ones. A
	// creator id of 0 means the actor.
	RequestCounts(ctx context.Context, creatorID int64) (own, all int, err error)
	// Lineages reads lineages by id.
	Lineages(ctx context.Context, ids []int64) (map[int64]model.Lineage, error)
	// TriageEventsBy returns the newest triage event of an actor for each lineage.
	TriageEventsBy(ctx context.Context, by model.Actor, lineages []int64) ([]model.TriageEvent, error)

	// CountVEX counts the documents in force, or the proposed ones.
	CountVEX(ctx context.Context, proposed bool) (int, error)
	// StoredVEX returns the document of the same name and scope, with its statements, or
	// model.ErrNotFound.
	StoredVEX(ctx context.Context, d model.VEXDocument) (model.VEXDocument, error)
	// VEXDocument returns a document with its statements, or model.ErrNotFound.
	VEXDocument(ctx context.Context, id int64) (model.VEXDocument, error)
	// SaveVEX stores a document and returns its id. It replaces stored if that has an id.
	SaveVEX(ctx context.Context, d, stored model.VEXDocument) (int64, error)
	// DeleteVEX deletes a document.
	DeleteVEX(ctx context.Context, d model.VEXDocument) error
	// EndVEX deletes the statements of a document, and retains the document with its state and
	// answer.
	EndVEX(ctx context.Context, d model.VEXDocument, state model.ExceptionState, answer string) error
	// VEXProposals returns the proposals of a project, oldest first.
	VEXProposals(ctx context.Context, projectID int64) ([]model.Exception, error)
	// ProposedVEXBytes returns the size of all proposals of the deployment, in bytes.
	ProposedVEXBytes(ctx context.Context) (int64, error)
	// MostVEXProposals returns the proposals of the project with the most documents, or the most
	// bytes.
	MostVEXProposals(ctx context.Context, byBytes bool) ([]model.Exception, error)
	// RefusedVEX returns the statements that were refused for a project, by id.
	RefusedVEX(ctx context.Context, projectID int64, ids []string) (map[string]bool, error)
	// RefuseVEX records refused statements of a proposed document.
	RefuseVEX(ctx context.Context, d model.VEXDocument, ids []string) error

	// ExceptionCandidates returns the distinct lineages of a scope, in ascending order.
	ExceptionCandidates(ctx context.Context, scope model.ExceptionScope) ([]int64, error)
	// ExceptionCases reads lineages with the data that Judge evaluates. Unknown lineages are
	// omitted.
	ExceptionCases(ctx context.Context, lineages []int64) ([]model.ExceptionCase, error)

	// ExpireDecisions reopens decisions whose end has passed, and returns their lineages.
	ExpireDecisions(ctx context.Context) ([]int64, error)
	// UpdateTriage writes each event's After to its lineage and appends the event to the history.
	UpdateTriage(ctx context.Context, events []model.TriageEvent) error

	// ExceptionChanges returns the changes since the last saved mark.
	ExceptionChanges(ctx context.Context) (model.ExceptionChanges, error)
	SaveExceptionMark(ctx context.Context, mark model.ExceptionMark) error
}
