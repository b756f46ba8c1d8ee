// Package ticket links findings to tickets in other people's trackers, and decides
// which tickets are made of which findings, and where.
//
// Its border: it knows the nouns and one transaction of one deployment. Trackers are
// asked by package hosts, which does so outside of any transaction.
package ticket

import (
	"context"
	"time"

	"github.com/redoubt/redoubt"
)

// Store is what tickets need of one transaction of one deployment.
type Store interface {
	// Now is the commit's clock value, Actor who the transaction acts for.
	Now() time.Time
	Actor() redoubt.Actor
	// Lineages reads lineages by id.
	Lineages(ctx context.Context, ids []int64) (map[int64]redoubt.Lineage, error)
	// UpdateTriage appends to the trails of lineages.
	UpdateTriage(ctx context.Context, events []redoubt.TriageEvent) error
	// Annotate changes what no scanner brings of a lineage.
	Annotate(ctx context.Context, lineageID int64, edit func(*redoubt.Annotations)) error
	// Connections lists the deployment's connections.
	Connections(ctx context.Context) ([]redoubt.Connection, error)
	// RepositoriesOf finds the repositories that projects are, by project; Repositories what
	// a connection sees.
	RepositoriesOf(ctx context.Context, projectIDs []int64) (map[int64]redoubt.Repository, error)
	Repositories(ctx context.Context, connectionID int64) ([]redoubt.Repository, error)
	// Project reads a project by its id.
	Project(ctx context.Context, id int64) (redoubt.Project, error)

	TicketSetting(ctx context.Context) (redoubt.TicketSetting, error)
	Ticket(ctx context.Context, id int64) (redoubt.Ticket, error)
	TicketsByURL(ctx context.Context, address string) ([]redoubt.Ticket, error)
	// TicketFindings lists what a ticket is about, of projects that the globs allow.
	TicketFindings(ctx context.Context, id int64, globs redoubt.ProjectGlobs) ([]redoubt.TicketFinding, error)
	// TicketsOfLineages finds the tickets of lineages, by lineage.
	TicketsOfLineages(ctx context.Context, lineages []int64) (map[int64]redoubt.Ticket, error)
	AddTicket(ctx context.Context, t redoubt.Ticket) (redoubt.Ticket, error)
	UpdateTicket(ctx context.Context, t redoubt.Ticket) error
	DeleteTicket(ctx context.Context, id int64) error
	AddTicketFindings(ctx context.Context, list []redoubt.TicketFinding) error
	// DropTicketFindings has lineages be about no ticket but the one to keep, and returns
	// what they were about.
	DropTicketFindings(ctx context.Context, lineages []int64, keep int64) ([]redoubt.TicketFinding, error)
	// ShowTicket has the findings of a ticket show it, and returns the lineages that did not.
	// One that is about nothing and in no tracker is deleted.
	ShowTicket(ctx context.Context, id int64) (fresh []int64, err error)
	// QueueTicket has a ticket created in its tracker.
	QueueTicket(ctx context.Context, id int64) error
}
