package findings

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// dropDoubleTickets leaves at most one ticket for each remaining lineage: its own, or else that of
// the first merged one. Tickets that exist in their tracker are preferred. pairs contain merged and
// remaining lineages. It returns the tickets whose findings change.
func (tx *Tx) dropDoubleTickets(ctx context.Context, pairs [][2]int64) (tickets []int64, err error) {
	var all []int64
	for _, p := range pairs {
		all = append(all, p[0], p[1])
	}
	had, err := tx.TicketsOfLineages(ctx, all)
	if err != nil || len(had) == 0 {
		return nil, err
	}
	for _, t := range had {
		tickets = append(tickets, t.ID)
	}
	best := map[int64]int64{} // the lineage whose ticket a remaining lineage gets
	var double []int64
	for _, p := range pairs {
		merged, stays := p[0], p[1]
		if _, known := best[stays]; !known && had[stays].ID != 0 {
			best[stays] = stays
		}
		if had[merged].ID == 0 {
			continue
		}
		holder, known := best[stays]
		switch {
		case !known:
			best[stays] = merged
		case had[merged].Created() && !had[holder].Created():
			best[stays], double = merged, append(double, holder)
		default:
			double = append(double, merged)
		}
	}
	in, arg := tx.In("lineage_id", 2, double)
	slices.Sort(tickets)
	return slices.Compact(tickets), tx.Write(ctx, `DELETE FROM ticket_finding WHERE deployment_id = $1 AND `+in, arg)
}

// MaxBareTickets limits a deployment's tickets that Redoubt created and that no longer have
// findings.
const MaxBareTickets = 1000

// SyncTicketAnnotations writes created tickets into the annotations of their lineages. It returns
// the changed lineages by ticket. An annotation lists only the ticket's other findings of the same
// project, because readers may lack access to others.
//
// Tickets without findings are deleted, except the newest ones that Redoubt created in a tracker.
func (tx *Tx) SyncTicketAnnotations(ctx context.Context, ids []int64) (fresh map[int64][]int64, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	tickets, err := tx.ticketsByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	about, err := tx.FindingsOfTickets(ctx, ids, nil)
	if err != nil {
		return nil, err
	}
	type beside struct{ ticket, project int64 }
	findings, of := map[beside][]int64{}, map[int64]model.TicketFinding{}
	for _, f := range about {
		of[f.LineageID] = f
		at := beside{f.TicketID, f.ProjectID}
		findings[at] = append(findings[at], f.FindingID)
	}
	fresh = map[int64][]int64{}
	err = tx.AnnotateAll(ctx, slices.Sorted(maps.Keys(of)), func(lineage int64, a *model.Annotations) {
		f, was := of[lineage], a.ExternalTicket
		t := tickets[f.TicketID]
		if !t.Created() {
			a.ExternalTicket = nil
			return
		}
		if was == nil || was.ID != t.ID {
			fresh[t.ID] = append(fresh[t.ID], lineage)
		}
		a.ExternalTicket = &model.ExternalTicket{
			ExternalSlug: t.Slug, ID: t.ID, LinkedIssueIDs: slices.Compact(findings[beside{t.ID, f.ProjectID}]), URL: t.URL,
		}
	})
	if err != nil {
		return nil, err
	}
	for _, f := range about {
		delete(tickets, f.TicketID)
	}
	return fresh, tx.dropBare(ctx, slices.Collect(maps.Values(tickets)))
}

// dropBare deletes tickets without findings, except the newest MaxBareTickets that Redoubt created
// in a tracker.
func (tx *Tx) dropBare(ctx context.Context, bare []model.Ticket) error {
	if len(bare) == 0 {
		return nil
	}
	made := func(t model.Ticket) bool { return t.Created() && t.Marker != "" }
	var old []model.Ticket
	if slices.ContainsFunc(bare, made) {
		var err error
		old, err = sqldb.Many(ctx, tx, scanTicket,
			`SELECT `+ticketColumns+` FROM ticket WHERE deployment_id = $1 AND url <> '' AND marker <> ''
			AND NOT EXISTS (SELECT 1 FROM ticket_finding f WHERE f.deployment_id = ticket.deployment_id
			AND f.ticket_id = ticket.id)
			ORDER BY id DESC LIMIT $3 OFFSET $2`, MaxBareTickets, int64(sqldb.MaxArgs))
		if err != nil {
			return err
		}
	}
	return tx.forgetTickets(ctx, append(slices.DeleteFunc(bare, made), old...))
}

// SplitTickets updates the links and annotations of tickets whose findings left their lineage. They
// then refer to a remaining finding, because the ticket stays with the lineage.
func (tx *Tx) SplitTickets(ctx context.Context, findings []int64) error {
	if len(findings) == 0 {
		return nil
	}
	var tickets, lineages []int64
	in, arg := tx.In("finding_id", 2, findings)
	err := sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var ticket, lineage int64
		err := r.Scan(&ticket, &lineage)
		tickets, lineages = append(tickets, ticket), append(lineages, lineage)
		return err
	}, `SELECT ticket_id, lineage_id FROM ticket_finding WHERE deployment_id = $1 AND `+in, arg)
	if err != nil {
		return err
	}
	for _, lineage := range lineages {
		err := tx.Write(ctx,
			`UPDATE ticket_finding SET finding_id = COALESCE((SELECT MIN(f.id) FROM finding f WHERE f.deployment_id = $1
				AND f.lineage_id = $2), finding_id)
			WHERE deployment_id = $1 AND lineage_id = $2`, lineage)
		if err != nil {
			return err
		}
	}
	slices.Sort(tickets)
	_, err = tx.SyncTicketAnnotations(ctx, slices.Compact(tickets))
	return err
}

// CheckTickets checks that the annotations of lineages match their ticket links.
func (tx *Tx) CheckTickets(ctx context.Context) (faults []string, err error) {
	linked := map[int64]int64{}
	err = sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var lineage, ticket int64
		err := r.Scan(&lineage, &ticket)
		linked[lineage] = ticket
		return err
	}, `SELECT f.lineage_id, t.id FROM ticket_finding f JOIN ticket t ON t.deployment_id = f.deployment_id AND t.id = `+
		`f.ticket_id WHERE f.deployment_id = $1 AND t.url <> ''`)
	if err != nil {
		return nil, err
	}
	fault := func(lineage, shows, has int64) {
		if shows != has {
			faults = append(faults, fmt.Sprintf("lineage %d shows ticket %d, but is linked to %d", lineage, shows, has))
		}
	}
	err = sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var lineage int64
		var a model.Annotations
		err := r.Scan(&lineage, sqldb.Decoded(&a))
		if err == nil && a.ExternalTicket != nil {
			fault(lineage, a.ExternalTicket.ID, linked[lineage])
			delete(linked, lineage)
		}
		return err
	}, `SELECT id, annotations_json FROM lineage WHERE deployment_id = $1 AND annotations_json LIKE '%"external_ticket"%'`)
	for _, lineage := range slices.Sorted(maps.Keys(linked)) {
		fault(lineage, 0, linked[lineage])
	}
	return faults, err
}
