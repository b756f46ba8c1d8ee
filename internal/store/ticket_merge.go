package store

import (
	"context"
	"slices"

	"github.com/redoubt/redoubt"
)

// dropDoubleTickets leaves each lineage that stays one ticket at most: its own, or that of
// the first which goes to it. Pairs are of what goes and what stays.
func (tx *Tx) dropDoubleTickets(ctx context.Context, pairs [][2]int64) error {
	var all []int64
	for _, p := range pairs {
		all = append(all, p[0], p[1])
	}
	in, arg := tx.in("lineage_id", 2, all)
	linked, err := many(ctx, tx, scalar[int64], `SELECT lineage_id FROM ticket_finding WHERE deployment_id = $1 AND `+in, arg)
	if err != nil || len(linked) == 0 {
		return err
	}
	has := map[int64]bool{}
	for _, id := range linked {
		has[id] = true
	}
	var double []int64
	for _, p := range pairs {
		switch {
		case !has[p[0]]:
		case has[p[1]]:
			double = append(double, p[0])
		default:
			has[p[1]] = true
		}
	}
	in, arg = tx.in("lineage_id", 2, double)
	return tx.write(ctx, `DELETE FROM ticket_finding WHERE deployment_id = $1 AND `+in, arg)
}

// mergeTickets has tickets name the findings that stay, and the findings of the project
// show the tickets that they have.
func (m *projectMerge) mergeTickets(ctx context.Context) error {
	var rows []redoubt.TicketFinding
	err := each(ctx, m.Tx, func(r row) error {
		f := redoubt.TicketFinding{ProjectID: m.into.ID}
		err := r.Scan(&f.TicketID, &f.FindingID, &f.LineageID)
		rows = append(rows, f)
		return err
	}, `SELECT t.ticket_id, t.finding_id, t.lineage_id FROM ticket_finding t
		JOIN lineage l ON l.deployment_id = t.deployment_id AND l.id = t.lineage_id
		WHERE t.deployment_id = $1 AND l.project_id = $2 ORDER BY t.finding_id`, m.into.ID)
	if err != nil {
		return err
	}
	about := map[int64][]int64{} // findings, by ticket
	lineages := make([]int64, len(rows))
	for i, f := range rows {
		if stays, goes := m.stays[f.FindingID]; goes {
			f.FindingID = stays
			err := m.write(ctx, `UPDATE ticket_finding SET finding_id = $3 WHERE deployment_id = $1 AND lineage_id = $2`, f.LineageID, stays)
			if err != nil {
				return err
			}
		}
		about[f.TicketID], lineages[i] = append(about[f.TicketID], f.FindingID), f.LineageID
	}
	tickets, err := m.TicketsOfLineages(ctx, lineages)
	if err != nil {
		return err
	}
	for _, id := range lineages {
		t := tickets[id]
		if !t.Created() {
			continue
		}
		ids := slices.Compact(slices.Sorted(slices.Values(about[t.ID])))
		is := redoubt.ExternalTicket{ExternalSlug: t.Slug, ID: t.ID, LinkedIssueIDs: ids, URL: t.URL}
		if err := m.Annotate(ctx, id, func(a *redoubt.Annotations) { a.ExternalTicket = &is }); err != nil {
			return err
		}
	}
	return nil
}
