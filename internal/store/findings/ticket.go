package findings

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/queue"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// TicketJob is the kind of job that creates a ticket in its tracker.
const TicketJob = "ticket"

// TicketOrder is the input of a TicketJob.
type TicketOrder struct {
	TicketID int64 `json:"ticket_id"`
}

const ticketColumns = `id, state, url, slug, connection_id, project, tracker_key, marker, problem, created_at, ` +
	`created_by_json, checked_at`

func scanTicket(r sqldb.Row) (t model.Ticket, err error) {
	return t, r.Scan(&t.ID, &t.State, &t.URL, &t.Slug, &t.ConnectionID, &t.Project, &t.Key, &t.Marker, &t.Problem,
		sqldb.Instant(&t.CreatedAt), sqldb.Decoded(&t.CreatedBy), sqldb.Instant(&t.CheckedAt))
}

// ticketImage is the content of audit events about a ticket.
type ticketImage struct {
	State   string `json:"state"`
	URL     string `json:"url,omitempty"`
	Slug    string `json:"slug,omitempty"`
	Project string `json:"project,omitempty"`
	Problem string `json:"problem,omitempty"`
}

func imageOfTicket(t model.Ticket) ticketImage {
	return ticketImage{t.State.String(), t.URL, t.Slug, t.Project, t.Problem}
}

// Ticket returns a ticket by id, or model.ErrNotFound.
func (tx *Tx) Ticket(ctx context.Context, id int64) (model.Ticket, error) {
	t, err := sqldb.One(
		ctx, tx, scanTicket, `SELECT `+ticketColumns+` FROM ticket WHERE deployment_id = $1 AND id = $2`, id,
	)
	if err != nil {
		return t, fmt.Errorf("ticket %d: %w", id, err)
	}
	return t, nil
}

// TicketsByURL returns the tickets with an address, by id. There are several if callers restricted
// to projects linked the same address, because they cannot read each other's tickets.
func (tx *Tx) TicketsByURL(ctx context.Context, address string) ([]model.Ticket, error) {
	return sqldb.Many(ctx, tx, scanTicket,
		`SELECT `+ticketColumns+` FROM ticket WHERE deployment_id = $1 AND url = $2 ORDER BY id`, address)
}

// TicketQuery selects tickets.
type TicketQuery struct {
	Globs model.ProjectGlobs // only tickets about a finding of a matching project
	After int64              // ids greater than this; 0 is the start
	Limit int
}

// TicketPage returns tickets by id, each with the findings of projects that the globs allow. It
// reports whether there are more.
func (tx *Tx) TicketPage(
	ctx context.Context, q TicketQuery,
) (list []model.Ticket, about map[int64][]model.TicketFinding, more bool, err error) {
	w := &sqldb.Where{Tx: tx.Tx}
	w.And(`id > ?`, q.After)
	projects, all, err := tx.VisibleProjectIDs(ctx, q.Globs)
	if err != nil {
		return nil, nil, false, err
	}
	if !all {
		w.Text.WriteString(` AND id IN (SELECT t.ticket_id FROM ticket_finding t JOIN lineage l ON l.deployment_id = ` +
			`t.deployment_id AND l.id = t.lineage_id WHERE t.deployment_id = $1`)
		w.In(`l.project_id`, projects)
		w.Text.WriteString(`)`)
	}
	w.And(`0 = 0 ORDER BY id LIMIT ?`, q.Limit+1)
	list, err = sqldb.Many(
		ctx, tx, scanTicket, `SELECT `+ticketColumns+` FROM ticket WHERE deployment_id = $1`+w.Text.String(), w.Args...,
	)
	if err != nil {
		return nil, nil, false, err
	}
	if more = len(list) > q.Limit; more {
		list = list[:q.Limit]
	}
	ids := model.Map(list, func(t model.Ticket) int64 { return t.ID })
	found, err := tx.FindingsOfTickets(ctx, ids, q.Globs)
	about = map[int64][]model.TicketFinding{}
	for _, f := range found {
		about[f.TicketID] = append(about[f.TicketID], f)
	}
	return list, about, more, err
}

// TicketFindings returns the findings of a ticket by id, of projects that the globs allow.
func (tx *Tx) TicketFindings(ctx context.Context, id int64, globs model.ProjectGlobs) ([]model.TicketFinding, error) {
	return tx.FindingsOfTickets(ctx, []int64{id}, globs)
}

// FindingsOfTickets is TicketFindings for several tickets.
func (tx *Tx) FindingsOfTickets(
	ctx context.Context, ids []int64, globs model.ProjectGlobs,
) (list []model.TicketFinding, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	in, arg := tx.In("t.ticket_id", 2, ids)
	return list, sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var f model.TicketFinding
		var name string
		err := r.Scan(&f.TicketID, &f.FindingID, &f.LineageID, &f.ProjectID, &name)
		if globs.Allows(name) {
			list = append(list, f)
		}
		return err
	}, `SELECT t.ticket_id, t.finding_id, t.lineage_id, p.id, p.name FROM ticket_finding t
		JOIN lineage l ON l.deployment_id = t.deployment_id AND l.id = t.lineage_id
		JOIN project p ON p.deployment_id = t.deployment_id AND p.id = l.project_id
		WHERE t.deployment_id = $1 AND `+in+` ORDER BY t.finding_id`, arg)
}

// TicketsOfLineages returns the tickets of lineages; lineages without one are omitted.
func (tx *Tx) TicketsOfLineages(ctx context.Context, lineages []int64) (map[int64]model.Ticket, error) {
	in, arg := tx.In("lineage_id", 2, lineages)
	of := map[int64]int64{}
	var ids []int64
	err := sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var lineage, ticket int64
		err := r.Scan(&lineage, &ticket)
		of[lineage], ids = ticket, append(ids, ticket)
		return err
	}, `SELECT lineage_id, ticket_id FROM ticket_finding WHERE deployment_id = $1 AND `+in+` ORDER BY ticket_id`, arg)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	byID, err := tx.ticketsByID(ctx, ids)
	found := make(map[int64]model.Ticket, len(of))
	for lineage, ticket := range of {
		found[lineage] = byID[ticket]
	}
	return found, err
}

// ticketsByID returns tickets by id; unknown ids are omitted.
func (tx *Tx) ticketsByID(ctx context.Context, ids []int64) (map[int64]model.Ticket, error) {
	in, arg := tx.In("id", 2, ids)
	list, err := sqldb.Many(
		ctx, tx, scanTicket, `SELECT `+ticketColumns+` FROM ticket WHERE deployment_id = $1 AND `+in, arg,
	)
	byID := make(map[int64]model.Ticket, len(list))
	for _, t := range list {
		byID[t.ID] = t
	}
	return byID, err
}

// AddTickets stores tickets and returns them with ids, creator and time.
func (tx *Tx) AddTickets(ctx context.Context, list []model.Ticket) ([]model.Ticket, error) {
	if len(list) == 0 {
		return nil, nil
	}
	ids, err := tx.NewIDs(ctx, sqldb.SeqConnection, len(list))
	if err != nil {
		return nil, err
	}
	added, rows := make([]model.Ticket, len(list)), make([][]any, len(list))
	for i, t := range list {
		t.ID, t.CreatedAt, t.CreatedBy = ids[i], tx.Now(), tx.Actor()
		tx.Audit("ticket.create", sqldb.Subject("ticket", t.ID), nil, imageOfTicket(t))
		added[i] = t
		rows[i] = []any{
			t.ID, int64(t.State), t.URL, t.Slug, t.ConnectionID, t.Project, t.Key,
			t.Marker, t.Problem, t.CreatedAt, sqldb.Encoded(t.CreatedBy), t.CheckedAt,
		}
	}
	return added, tx.Insert(ctx, `ticket (deployment_id, `+ticketColumns+`)`, rows, "")
}

// UpdateTicket stores the changed state of a ticket. An unknown one is model.ErrNotFound.
func (tx *Tx) UpdateTicket(ctx context.Context, t model.Ticket) error {
	return tx.UpdateTickets(ctx, []model.Ticket{t})
}

// UpdateTickets is UpdateTicket for several tickets.
func (tx *Tx) UpdateTickets(ctx context.Context, list []model.Ticket) error {
	if len(list) == 0 {
		return nil
	}
	ids := model.Map(list, func(t model.Ticket) int64 { return t.ID })
	before, err := tx.ticketsByID(ctx, ids)
	if err != nil {
		return err
	}
	for _, t := range list {
		was, found := before[t.ID]
		if !found {
			return fmt.Errorf("ticket %d: %w", t.ID, model.ErrNotFound)
		}
		tx.Audit("ticket.update", sqldb.Subject("ticket", t.ID), imageOfTicket(was), imageOfTicket(t))
		if err := tx.writeTicket(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

func (tx *Tx) writeTicket(ctx context.Context, t model.Ticket) error {
	return tx.Write(ctx,
		`UPDATE ticket SET state = $3, url = $4, slug = $5, connection_id = $6, project = $7, tracker_key = $8, problem = $9,
			checked_at = $10, marker = $11
		WHERE deployment_id = $1 AND id = $2`, t.ID, int64(t.State), t.URL, t.Slug, t.ConnectionID, t.Project, t.Key,
		t.Problem, t.CheckedAt, t.Marker)
}

// DeleteTicket deletes a ticket and its links to findings.
func (tx *Tx) DeleteTicket(ctx context.Context, id int64) error {
	t, err := tx.Ticket(ctx, id)
	if err != nil {
		return err
	}
	return tx.forgetTickets(ctx, []model.Ticket{t})
}

// forgetTickets deletes tickets and their links to findings.
func (tx *Tx) forgetTickets(ctx context.Context, list []model.Ticket) error {
	ids := make([]int64, len(list))
	for i, t := range list {
		ids[i] = t.ID
		tx.Audit("ticket.delete", sqldb.Subject("ticket", t.ID), imageOfTicket(t), nil)
	}
	for table, column := range map[string]string{"ticket_finding": "ticket_id", "ticket": "id"} {
		in, arg := tx.In(column, 2, ids)
		if err := tx.Write(ctx, `DELETE FROM `+table+` WHERE deployment_id = $1 AND `+in, arg); err != nil {
			return err
		}
	}
	return nil
}

// AddTicketFindings links tickets to findings. A lineage has one ticket, so a new link replaces the
// old one.
func (tx *Tx) AddTicketFindings(ctx context.Context, list []model.TicketFinding) error {
	rows := make([][]any, len(list))
	for i, f := range list {
		rows[i] = []any{f.TicketID, f.FindingID, f.LineageID}
	}
	return tx.Insert(ctx, `ticket_finding (deployment_id, ticket_id, finding_id, lineage_id)`, rows, `ON CONFLICT `+
		`(deployment_id, lineage_id) DO UPDATE SET ticket_id = excluded.ticket_id, finding_id = excluded.finding_id`)
}

// DropTicketFindings deletes the ticket links of lineages and returns them.
func (tx *Tx) DropTicketFindings(ctx context.Context, lineages []int64) ([]model.TicketFinding, error) {
	in, arg := tx.In("lineage_id", 2, lineages)
	tx.MarkWritten()
	return sqldb.Many(ctx, tx, func(r sqldb.Row) (f model.TicketFinding, err error) {
		return f, r.Scan(&f.TicketID, &f.FindingID, &f.LineageID)
	}, `DELETE FROM ticket_finding WHERE deployment_id = $1 AND `+in+` RETURNING ticket_id, finding_id, lineage_id`, arg)
}

// StaleTickets returns created tickets of a connection that were not checked since a time, least
// recently checked first. Tickets without findings are excluded.
func (tx *Tx) StaleTickets(
	ctx context.Context, connectionID int64, since time.Time, limit int,
) ([]model.Ticket, error) {
	return sqldb.Many(ctx, tx, scanTicket, `SELECT `+ticketColumns+` FROM ticket
		WHERE deployment_id = $1 AND connection_id = $2 AND url <> '' AND (checked_at IS NULL OR checked_at < $3)
			AND EXISTS (SELECT 1 FROM ticket_finding f WHERE f.deployment_id = ticket.deployment_id AND f.ticket_id = ticket.id)
		ORDER BY COALESCE(checked_at, 0), id LIMIT $4`, connectionID, since, limit)
}

// NoteTicketChecked stores that a ticket was checked in its tracker without a change. It adds no
// audit event.
func (tx *Tx) NoteTicketChecked(ctx context.Context, id int64) error {
	return tx.Write(ctx, `UPDATE ticket SET checked_at = $3 WHERE deployment_id = $1 AND id = $2`, id, tx.Now())
}

// TicketSetting returns the deployment's ticket setting, or the zero setting.
func (tx *Tx) TicketSetting(ctx context.Context) (s model.TicketSetting, err error) {
	s, err = sqldb.One(ctx, tx, func(r sqldb.Row) (s model.TicketSetting, err error) {
		return s, r.Scan(sqldb.Decoded(&s))
	},
		`SELECT setting_json FROM ticket_setting WHERE deployment_id = $1`)
	if errors.Is(err, model.ErrNotFound) {
		err = nil
	}
	return s, err
}

// PutTicketSetting stores the deployment's ticket setting.
func (tx *Tx) PutTicketSetting(ctx context.Context, s model.TicketSetting) error {
	before, err := tx.TicketSetting(ctx)
	if err != nil {
		return err
	}
	s.Labels, before.Labels = sqldb.OrEmpty(s.Labels), sqldb.OrEmpty(before.Labels)
	tx.Audit("ticket_setting.update", sqldb.Subject("deployment", tx.Deployment().ID), before, s)
	return tx.Insert(ctx, `ticket_setting (deployment_id, setting_json)`, [][]any{
		{sqldb.Encoded(s)},
	}, `ON CONFLICT (deployment_id) DO UPDATE SET setting_json = excluded.setting_json`)
}

// QueueTickets queues jobs that create tickets in their trackers.
func (tx *Tx) QueueTickets(ctx context.Context, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	hosts := map[int64]string{}
	in, list := tx.In("t.id", 2, ids)
	err := sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var id int64
		var base string
		err := r.Scan(&id, &base)
		hosts[id] = base
		return err
	}, `SELECT t.id, c.base_url FROM ticket t
		JOIN connection c ON c.deployment_id = t.deployment_id AND c.id = t.connection_id
		WHERE t.deployment_id = $1 AND `+in, list)
	if err != nil {
		return err
	}
	jobs := make([]model.Job, len(ids))
	for i, id := range ids {
		input, err := json.Marshal(TicketOrder{id})
		if err != nil {
			return err
		}
		jobs[i] = model.Job{Kind: TicketJob, Key: queue.HostKey(hosts[id]), Input: input}
	}
	return queue.InsertJobs(ctx, tx.Session, tx.Deployment().ID, tx.Now(), jobs, queue.JobDetails{})
}
