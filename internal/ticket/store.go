// Package ticket links findings to tickets in other people's trackers, and decides
// which tickets are made of which findings, and where.
//
// Its border: it knows the nouns and one transaction of one deployment. Trackers are
// asked by package hosts, which does so outside of any transaction.
package ticket

import (
	"context"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// Store is what tickets need of one transaction of one deployment. Its methods take
// lists, so that what is asked of a database does not grow with them.
type Store interface {
	// Now is the commit's clock value, Actor who the transaction acts for.
	Now() time.Time
	Actor() model.Actor
	// Lineages reads lineages by id.
	Lineages(ctx context.Context, ids []int64) (map[int64]model.Lineage, error)
	// AddTriageNotes appends to the trails of lineages, whose triage stays.
	AddTriageNotes(ctx context.Context, events []model.TriageEvent) error
	// AnnotateAll changes what no scanner brings of lineages.
	AnnotateAll(ctx context.Context, lineages []int64, edit func(lineage int64, a *model.Annotations)) error
	// Connections lists the deployment's connections.
	Connections(ctx context.Context) ([]model.Connection, error)
	// RepositoriesOf finds the repositories that projects are, by project; Repositories what
	// a connection sees.
	RepositoriesOf(ctx context.Context, projectIDs []int64) (map[int64]model.Repository, error)
	Repositories(ctx context.Context, connectionID int64) ([]model.Repository, error)
	// Project reads a project by its id.
	Project(ctx context.Context, id int64) (model.Project, error)

	TicketSetting(ctx context.Context) (model.TicketSetting, error)
	Ticket(ctx context.Context, id int64) (model.Ticket, error)
	TicketsByURL(ctx context.Context, address string) ([]model.Ticket, error)
	// TicketFindings lists what a ticket is about, of projects that the globs allow.
	TicketFindings(ctx context.Context, id int64, globs model.ProjectGlobs) ([]model.TicketFinding, error)
	// TicketsOfLineages finds the tickets of lineages, by lineage.
	TicketsOfLineages(ctx context.Context, lineages []int64) (map[int64]model.Ticket, error)
	// FindingsOfTickets is TicketFindings of several tickets.
	FindingsOfTickets(ctx context.Context, ids []int64, globs model.ProjectGlobs) ([]model.TicketFinding, error)
	AddTickets(ctx context.Context, list []model.Ticket) ([]model.Ticket, error)
	UpdateTickets(ctx context.Context, list []model.Ticket) error
	DeleteTicket(ctx context.Context, id int64) error
	AddTicketFindings(ctx context.Context, list []model.TicketFinding) error
	// DropTicketFindings has lineages be about no ticket, and returns what they were about.
	DropTicketFindings(ctx context.Context, lineages []int64) ([]model.TicketFinding, error)
	// SyncTicketAnnotations has the findings of tickets show them, and returns the lineages that did
	// not, by ticket. Tickets that are about nothing are deleted, but for some that we made.
	SyncTicketAnnotations(ctx context.Context, ids []int64) (fresh map[int64][]int64, err error)
	// QueueTickets has tickets created in their trackers.
	QueueTickets(ctx context.Context, ids []int64) error
}
