package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/redoubt/redoubt"
)

// ticketVersion is the migration that makes tickets of those that only annotations tell of.
const ticketVersion = 63

// notedTicket is a ticket that an annotation tells of, and no row.
type notedTicket struct {
	lineage, project, finding int64
	annotations               redoubt.Annotations
}

// linkNotedTickets links the findings whose annotations name a ticket to one of that
// address. Where there is no address, the name stays in the audit trail alone.
func (e *engine) linkNotedTickets(ctx context.Context, sqlTx *sql.Tx) error {
	return e.migrateTenants(ctx, sqlTx, redoubt.Actor{Kind: "system", Name: "migration"}, func(tx *Tx) error {
		if err := tx.linkNotedTickets(ctx); err != nil {
			return fmt.Errorf("the tickets of deployment %d: %w", tx.deployment.ID, err)
		}
		return nil
	})
}

func (tx *Tx) linkNotedTickets(ctx context.Context) error {
	noted, err := many(ctx, tx, func(r row) (n notedTicket, err error) {
		return n, r.Scan(&n.lineage, &n.project, &n.finding, decoded(&n.annotations))
	}, `SELECT l.id, l.project_id, MIN(f.id), l.annotations_json FROM lineage l JOIN finding f ON f.deployment_id = l.deployment_id AND f.lineage_id = l.id
		WHERE l.deployment_id = $1 AND l.annotations_json LIKE '%"external_ticket"%'
			AND NOT EXISTS (SELECT 1 FROM ticket_finding t WHERE t.deployment_id = l.deployment_id AND t.lineage_id = l.id)
		GROUP BY l.id, l.project_id, l.annotations_json ORDER BY l.id`)
	if err != nil {
		return err
	}
	at := map[string][]notedTicket{}
	for _, n := range noted {
		if n.annotations.ExternalTicket != nil {
			at[n.annotations.ExternalTicket.URL] = append(at[n.annotations.ExternalTicket.URL], n)
		}
	}
	if len(at) == 0 {
		return nil
	}
	for _, address := range slices.Sorted(maps.Keys(at)) {
		for group := range slices.Chunk(at[address], redoubt.MaxTicketFindings) {
			if err := tx.linkNoted(ctx, address, group); err != nil {
				return err
			}
		}
	}
	return tx.finish(ctx)
}

// linkNoted links what a ticket is about to it.
func (tx *Tx) linkNoted(ctx context.Context, address string, group []notedTicket) error {
	t, problem := redoubt.ParseTicketURL(address)
	if problem == nil {
		var err error
		if t.ID, err = tx.newID(ctx, seqConnection); err != nil {
			return err
		}
		if slug := redoubt.TicketSlug(group[0].annotations.ExternalTicket.ExternalSlug); slug != "" {
			t.Slug = slug
		}
		tx.audit("ticket.create", subject("ticket", t.ID), nil, imageOfTicket(t))
		err = tx.insert(ctx, `ticket (deployment_id, id, state, url, slug, connection_id, project, tracker_key, marker, problem, created_at, created_by_json)`,
			[][]any{{t.ID, int64(t.State), t.URL, t.Slug, 0, t.Project, t.Key, "", "", tx.now, encoded(tx.actor)}}, "")
		if err != nil {
			return err
		}
	}
	ids := map[int64][]int64{} // findings, by project
	for _, n := range group {
		ids[n.project] = append(ids[n.project], n.finding)
	}
	for _, n := range group {
		before := encoded(n.annotations)
		n.annotations.ExternalTicket = nil
		if problem == nil {
			n.annotations.ExternalTicket = &redoubt.ExternalTicket{ExternalSlug: t.Slug, ID: t.ID, LinkedIssueIDs: slices.Sorted(slices.Values(ids[n.project])), URL: t.URL}
			if err := tx.insert(ctx, `ticket_finding (deployment_id, ticket_id, finding_id, lineage_id)`, [][]any{{t.ID, n.finding, n.lineage}}, ""); err != nil {
				return err
			}
		}
		after := encoded(n.annotations)
		tx.change(changeLineage, n.lineage)
		tx.audit("finding.annotate", subject("lineage", n.lineage), json.RawMessage(before), json.RawMessage(after))
		if err := tx.write(ctx, `UPDATE lineage SET annotations_json = $3 WHERE deployment_id = $1 AND id = $2`, n.lineage, after); err != nil {
			return err
		}
	}
	return nil
}
