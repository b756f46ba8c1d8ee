package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redoubt/redoubt"
)

const vexColumns = `id, name, project_id, ref, projects_json, format, author, file, version, issued_at, received_at, received_by`

func scanVEX(r row) (d redoubt.VEXDocument, err error) {
	return d, r.Scan(vexFields(&d)...)
}

func vexFields(d *redoubt.VEXDocument) []any {
	return []any{
		&d.ID, &d.Name, &d.ProjectID, &d.Ref, decoded(&d.Projects), &d.Format, &d.Author, &d.File, &d.Version,
		instant(&d.IssuedAt), instant(&d.ReceivedAt), &d.ReceivedBy,
	}
}

// vexImage is what the audit trail tells of a document.
type vexImage struct {
	Name       string   `json:"name"`
	Format     string   `json:"format"`
	Author     string   `json:"author,omitempty"`
	Version    int64    `json:"version,omitempty"`
	IssuedAt   string   `json:"issued_at,omitempty"`
	Project    string   `json:"project,omitempty"`
	Ref        string   `json:"ref,omitempty"`
	Projects   []string `json:"projects,omitempty"`
	Statements int      `json:"statements"`
}

func imageOfVEX(d redoubt.VEXDocument, statements int) vexImage {
	i := vexImage{Name: d.Name, Format: d.Format, Author: d.Author, Version: d.Version, Ref: d.Ref, Projects: d.Projects, Statements: statements}
	if !d.IssuedAt.IsZero() {
		i.IssuedAt = d.IssuedAt.UTC().Format(time.RFC3339)
	}
	if d.ProjectID != 0 {
		i.Project = subject("project", d.ProjectID)
	}
	return i
}

// VEXHolding is a document that is held, without its statements, and how many
// it has.
type VEXHolding struct {
	redoubt.VEXDocument
	Count   int
	Decides int // lineages that it decided about last
}

// VEXDocuments lists the documents that are held, by id.
func (tx *Tx) VEXDocuments(ctx context.Context) ([]VEXHolding, error) {
	list, err := many(ctx, tx, func(r row) (h VEXHolding, err error) {
		return h, r.Scan(append(vexFields(&h.VEXDocument), &h.Count)...)
	}, `SELECT `+vexColumns+`, statements FROM vex_document WHERE deployment_id = $1 ORDER BY id`)
	if err != nil || len(list) == 0 {
		return list, err
	}
	return list, each(ctx, tx, func(r row) error {
		var by redoubt.Actor
		var n int
		if err := r.Scan(decoded(&by), &n); err != nil {
			return err
		}
		for i := range list {
			if list[i].Actor() == by {
				list[i].Decides = n
			}
		}
		return nil
	}, `SELECT triaged_by_json, COUNT(*) FROM lineage WHERE deployment_id = $1 AND automatic = 1
		AND `+byVEX+` AND NOT (triage_state = $2 AND triage_comment = '') GROUP BY triaged_by_json`, int64(redoubt.TriageReopened))
}

// VEXDocument reads a document with its statements. An unknown one is
// redoubt.ErrNotFound.
func (tx *Tx) VEXDocument(ctx context.Context, id int64) (redoubt.VEXDocument, error) {
	d, err := one(ctx, tx, scanVEX, `SELECT `+vexColumns+` FROM vex_document WHERE deployment_id = $1 AND id = $2`, id)
	if err != nil {
		return d, fmt.Errorf("VEX document %d: %w", id, err)
	}
	d.Statements, err = many(ctx, tx, func(r row) (s redoubt.VEXStatement, err error) { return s, r.Scan(decoded(&s)) },
		`SELECT statement_json FROM vex_statement WHERE deployment_id = $1 AND document_id = $2 ORDER BY place`, id)
	return d, err
}

// PutVEX holds a document in place of an older one of its name and scope, and
// brings the findings that either speaks of in line in the same transaction. An
// older document than the one held changes nothing; one without statements
// withdraws what is held.
func (tx *Tx) PutVEX(ctx context.Context, d redoubt.VEXDocument) (out redoubt.VEXReceipt, err error) {
	d.ReceivedAt, d.ReceivedBy, d.IssuedAt = tx.now, tx.actor.String(), d.IssuedAt.UTC().Truncate(time.Microsecond)
	defer func() {
		if err != nil {
			err = fmt.Errorf("hold VEX document %q: %w", d.Name, err)
		}
		out.Document = d
		out.Document.Statements = nil
	}()
	out.Statements = len(d.Statements)
	held, err := tx.heldVEX(ctx, d)
	switch {
	case errors.Is(err, redoubt.ErrNotFound):
	case err != nil:
		return out, err
	case !d.Newer(&held):
		d.ID, out.Outcome = held.ID, redoubt.VEXOlder
		return out, nil
	default:
		d.ID = held.ID
		if encoded(held.Statements) == encoded(d.Statements) && held.Version == d.Version && held.IssuedAt.Equal(d.IssuedAt) {
			out.Outcome = redoubt.VEXSame
			return out, nil
		}
	}
	switch {
	case len(d.Statements) > 0:
		out.Outcome = redoubt.VEXHeld
		err = tx.writeVEX(ctx, &d, held)
	case d.ID != 0:
		out.Outcome = redoubt.VEXWithdrawn
		err = tx.dropVEX(ctx, held)
	default:
		out.Outcome = redoubt.VEXSame
		return out, nil
	}
	if err != nil {
		return out, err
	}
	out.Changed, err = tx.claimAll(ctx, append(held.Statements, d.Statements...))
	return out, err
}

// heldVEX reads the document of the same name and scope.
func (tx *Tx) heldVEX(ctx context.Context, d redoubt.VEXDocument) (redoubt.VEXDocument, error) {
	id, err := one(ctx, tx, scalar[int64], `SELECT id FROM vex_document
		WHERE deployment_id = $1 AND project_id = $2 AND ref = $3 AND projects_json = $4 AND name = $5`,
		d.ProjectID, d.Ref, encoded(orEmpty(d.Projects)), d.Name)
	if err != nil {
		return redoubt.VEXDocument{}, err
	}
	return tx.VEXDocument(ctx, id)
}

// writeVEX stores a document in place of the one that is held, if there is one.
func (tx *Tx) writeVEX(ctx context.Context, d *redoubt.VEXDocument, held redoubt.VEXDocument) (err error) {
	action, before := "vex.create", any(nil)
	if d.ID == 0 {
		d.ID, err = tx.newID(ctx, seqVEXDocument)
	} else {
		action, before = "vex.update", imageOfVEX(held, len(held.Statements))
		err = tx.forgetVEX(ctx, d.ID)
	}
	if err != nil {
		return err
	}
	row := []any{
		d.ID, d.Name, d.ProjectID, d.Ref, encoded(orEmpty(d.Projects)), d.Format, d.Author, d.File, d.Version, d.IssuedAt,
		d.ReceivedAt, d.ReceivedBy, len(d.Statements),
	}
	if err := tx.insert(ctx, `vex_document (deployment_id, `+vexColumns+`, statements)`, [][]any{row}, ""); err != nil {
		return err
	}
	var statements, names [][]any
	for place := range d.Statements {
		statements = append(statements, []any{d.ID, place, encoded(d.Statements[place])})
		for _, name := range d.Statements[place].Names {
			names = append(names, []any{name, d.ID, place})
		}
	}
	if err := tx.insert(ctx, `vex_statement (deployment_id, document_id, place, statement_json)`, statements, ""); err != nil {
		return err
	}
	if err := tx.insert(ctx, `vex_name (deployment_id, name, document_id, place)`, names, "ON CONFLICT DO NOTHING"); err != nil {
		return err
	}
	tx.audit(action, subject("vex", d.ID), before, imageOfVEX(*d, len(d.Statements)))
	return nil
}

func (tx *Tx) dropVEX(ctx context.Context, d redoubt.VEXDocument) error {
	tx.audit("vex.delete", subject("vex", d.ID), imageOfVEX(d, len(d.Statements)), nil)
	return tx.forgetVEX(ctx, d.ID)
}

func (tx *Tx) forgetVEX(ctx context.Context, ids ...int64) error {
	for table, column := range map[string]string{"vex_name": "document_id", "vex_statement": "document_id", "vex_document": "id"} {
		in, arg := tx.in(column, 2, ids)
		if _, err := tx.exec(ctx, `DELETE FROM `+table+` WHERE deployment_id = $1 AND `+in, arg); err != nil {
			return err
		}
	}
	return nil
}

// RemoveVEX ends a document, and reopens what it decided about in the same
// transaction. An unknown one is redoubt.ErrNotFound.
func (tx *Tx) RemoveVEX(ctx context.Context, id int64) (d redoubt.VEXDocument, changed int, err error) {
	if d, err = tx.VEXDocument(ctx, id); err != nil {
		return d, 0, err
	}
	if err := tx.dropVEX(ctx, d); err != nil {
		return d, 0, err
	}
	changed, err = tx.claimAll(ctx, d.Statements)
	return d, changed, err
}

// forgetVEXOf ends what was sent for a project, or for one ref of it.
func (tx *Tx) forgetVEXOf(ctx context.Context, projectID int64, ref string) error {
	query, args := `SELECT `+vexColumns+` FROM vex_document WHERE deployment_id = $1 AND project_id = $2`, []any{projectID}
	if ref != "" {
		query, args = query+` AND ref = $3`, append(args, ref)
	}
	list, err := many(ctx, tx, scanVEX, query, args...)
	if err != nil {
		return err
	}
	for _, d := range list {
		if d, err = tx.VEXDocument(ctx, d.ID); err != nil {
			return err
		}
		if err := tx.dropVEX(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// mergeVEX hands the documents of a project to another, but for those of which
// that has one of the same name.
func (tx *Tx) mergeVEX(ctx context.Context, from, into int64) error {
	double, err := many(ctx, tx, scalar[int64], `SELECT f.id FROM vex_document f JOIN vex_document t
		ON t.deployment_id = f.deployment_id AND t.ref = f.ref AND t.projects_json = f.projects_json AND t.name = f.name
		WHERE f.deployment_id = $1 AND f.project_id = $2 AND t.project_id = $3`, from, into)
	if err != nil {
		return err
	}
	if len(double) > 0 {
		if err := tx.forgetVEX(ctx, double...); err != nil {
			return err
		}
	}
	return tx.reassign(ctx, "vex_document", from, into)
}

// namesOf lists the names of the vulnerabilities of statements, each once.
func namesOf(statements []redoubt.VEXStatement) []string {
	var names []string
	for i := range statements {
		names = append(names, statements[i].Names...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
