// Package ticket links findings to tickets in external trackers and decides which tickets are
// created, and where. It works within one transaction of one deployment; package hosts calls the
// trackers.
package ticket

import (
	"context"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// Store is the interface of tickets to one transaction of one deployment. Its methods accept lists,
// so that the number of queries is constant.
type Store interface {
	// Now returns the commit time, and Actor the actor of the transaction.
	Now() time.Time
	Actor() model.Actor
	// Lineages reads lineages by id.
	Lineages(ctx context.Context, ids []int64) (map[int64]model.Lineage, error)
	// AddTriageNotes appends to the triage events of lineages. Their triage is unchanged.
	AddTriageNotes(ctx context.Context, events []model.TriageEvent) error
	// AnnotateAll changes the annotations of lineages, which scanners do not provide.
	AnnotateAll(ctx context.Context, lineages []int64, edit func(lineage int64, a *model.Annotations)) error
	// Connections lists the connections of the deployment.
	Connections(ctx context.Context) ([]model.Connection, error)
	// RepositoriesOf returns the repositories of projects, by project. Repositories returns those
	// visible to a connection.
	RepositoriesOf(ctx context.Context, projectIDs []int64) (map[int64]model.Repository, error)
	Repositories(ctx context.Context, connectionID int64) ([]model.Repository, error)
	// Project reads a project by its id.
	Project(ctx context.Context, id int64) (model.Project, error)

	TicketSetting(ctx context.Context) (model.TicketSetting, error)
	Ticket(ctx context.Context, id int64) (model.Ticket, error)
	TicketsByURL(ctx context.Context, address string) ([]model.Ticket, error)
	// TicketFindings lists the findings of a ticket, in projects that the globs allow.
	TicketFindings(ctx context.Context, id int64, globs model.ProjectGlobs) ([]model.TicketFinding, error)
	// TicketsOfLineages returns the tickets of lineages, by lineage.
	TicketsOfLineages(ctx context.Context, lineages []int64) (map[int64]model.Ticket, error)
	// FindingsOfTickets is TicketFindings for several tickets.
	FindingsOfTickets(ctx context.Context, ids []int64, globs model.ProjectGlobs) ([]model.TicketFinding, error)
	AddTickets(ctx context.Context, list []model.Ticket) ([]model.Ticket, error)
	UpdateTickets(ctx context.Context, list []model.Ticket) error
	DeleteTicket(ctx context.Context, id int64) error
	AddTicketFindings(ctx context.Context, list []model.TicketFinding) error
	// DropTicketFindings removes the links of lineages to tickets, and returns them.
	DropTicketFindings(ctx context.Context, lineages []int64) ([]model.TicketFinding, error)
	// SyncTicketAnnotations copies tickets to the annotations of their findings. It returns the
	// changed lineages by ticket. Tickets without findings are deleted, except some that we
	// created.
	SyncTicketAnnotations(ctx context.Context, ids []int64) (fresh map[int64][]int64, err error)
	// QueueTickets enqueues the creation of tickets in their trackers.
	QueueTickets(ctx context.Context, ids []int64) error
}
