package store

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/redoubt/redoubt"
)

const vexColumns = `id, name, project_id, ref, projects_json, format, author, file, version, issued_at, received_at, received_by, proposed`

func scanVEX(r row) (d redoubt.VEXDocument, err error) {
	return d, r.Scan(vexFields(&d)...)
}

func vexFields(d *redoubt.VEXDocument) []any {
	return []any{
		&d.ID, &d.Name, &d.ProjectID, &d.Ref, decoded(&d.Projects), &d.Format, &d.Author, &d.File, &d.Version,
		instant(&d.IssuedAt), instant(&d.ReceivedAt), &d.ReceivedBy, &d.Proposed,
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
	Proposed   bool     `json:"proposed,omitempty"`
}

func imageOfVEX(d redoubt.VEXDocument, statements int) vexImage {
	i := vexImage{Name: d.Name, Format: d.Format, Author: d.Author, Version: d.Version, Ref: d.Ref, Projects: d.Projects, Statements: statements, Proposed: d.Proposed}
	if !d.IssuedAt.IsZero() {
		i.IssuedAt = d.IssuedAt.UTC().Format(time.RFC3339)
	}
	if d.ProjectID != 0 {
		i.Project = subject("project", d.ProjectID)
	}
	return i
}

// VEXDocument reads a document with its statements. An unknown one is
// redoubt.ErrNotFound.
func (tx *Tx) VEXDocument(ctx context.Context, id int64) (redoubt.VEXDocument, error) {
	d, err := one(ctx, tx, scanVEX, `SELECT `+vexColumns+` FROM vex_document WHERE deployment_id = $1 AND id = $2`, id)
	if err != nil {
		return d, fmt.Errorf("VEX document %d: %w", id, err)
	}
	statements, unread := many(ctx, tx, func(r row) (s redoubt.VEXStatement, err error) { return s, r.Scan(decoded(&s)) },
		`SELECT statement_json FROM vex_statement WHERE deployment_id = $1 AND document_id = $2 ORDER BY place`, id)
	d.Statements = statements
	return d, cmp.Or(err, unread)
}

// CountVEX counts the documents that are held, or those that are proposed.
func (tx *Tx) CountVEX(ctx context.Context, proposed bool) (int, error) {
	return one(ctx, tx, scalar[int], `SELECT COUNT(*) FROM vex_document WHERE deployment_id = $1 AND proposed = $2`, proposed)
}

// HeldVEX finds the document of the same name and scope, with its statements, of
// the proposed ones for one that is; where there is none it is redoubt.ErrNotFound.
func (tx *Tx) HeldVEX(ctx context.Context, d redoubt.VEXDocument) (redoubt.VEXDocument, error) {
	id, err := one(ctx, tx, scalar[int64], `SELECT id FROM vex_document
		WHERE deployment_id = $1 AND project_id = $2 AND ref = $3 AND projects_json = $4 AND name = $5 AND proposed = $6`,
		d.ProjectID, d.Ref, encoded(orEmpty(d.Projects)), d.Name, d.Proposed)
	if err != nil {
		return redoubt.VEXDocument{}, err
	}
	return tx.VEXDocument(ctx, id)
}

// SaveVEX stores a document, in place of the one that is held where that has an
// id, and returns its id.
func (tx *Tx) SaveVEX(ctx context.Context, d, held redoubt.VEXDocument) (id int64, err error) {
	action, before := "vex.create", any(nil)
	if d.ID = held.ID; d.ID == 0 {
		d.ID, err = tx.newID(ctx, seqVEXDocument)
	} else {
		action, before = "vex.update", imageOfVEX(held, len(held.Statements))
		err = tx.forgetVEX(ctx, d.ID)
	}
	if err != nil {
		return 0, err
	}
	row := []any{
		d.ID, d.Name, d.ProjectID, d.Ref, encoded(orEmpty(d.Projects)), d.Format, d.Author, d.File, d.Version, d.IssuedAt,
		d.ReceivedAt, d.ReceivedBy, d.Proposed, len(d.Statements),
	}
	var statements, names [][]any
	bytes := 0
	for place := range d.Statements {
		text := encoded(d.Statements[place])
		bytes += len(text)
		statements = append(statements, []any{d.ID, place, text})
		for _, name := range d.Statements[place].Names {
			names = append(names, []any{name, d.ID, place})
		}
	}
	if err := tx.insert(ctx, `vex_document (deployment_id, `+vexColumns+`, statements, bytes)`, [][]any{append(row, bytes)}, ""); err != nil {
		return 0, err
	}
	if err := tx.insert(ctx, `vex_statement (deployment_id, document_id, place, statement_json)`, statements, ""); err != nil {
		return 0, err
	}
	if err := tx.insert(ctx, `vex_name (deployment_id, name, document_id, place)`, names, "ON CONFLICT DO NOTHING"); err != nil {
		return 0, err
	}
	tx.audit(action, subject("vex", d.ID), before, imageOfVEX(d, len(d.Statements)))
	return d.ID, nil
}

// DeleteVEX forgets a document.
func (tx *Tx) DeleteVEX(ctx context.Context, d redoubt.VEXDocument) error {
	tx.audit("vex.delete", subject("vex", d.ID), imageOfVEX(d, len(d.Statements)), nil)
	return tx.forgetVEX(ctx, d.ID)
}

func (tx *Tx) forgetVEX(ctx context.Context, ids ...int64) error {
	if len(ids) == 0 {
		return nil
	}
	for table, column := range map[string]string{"vex_name": "document_id", "vex_statement": "document_id", "vex_document": "id"} {
		in, arg := tx.in(column, 2, ids)
		if err := tx.write(ctx, `DELETE FROM `+table+` WHERE deployment_id = $1 AND `+in, arg); err != nil {
			return err
		}
	}
	return nil
}

// forgetVEXOf ends what was sent for a project, or for one ref of it.
func (tx *Tx) forgetVEXOf(ctx context.Context, projectID int64, ref string) error {
	query, args := vexHoldings+` AND d.project_id = $2`, []any{projectID}
	if ref != "" {
		query, args = query+` AND d.ref = $3`, append(args, ref)
	}
	list, err := many(ctx, tx, heldVEX, query+` ORDER BY d.id`, args...)
	if err != nil || len(list) == 0 {
		return err
	}
	tx.change(changeProject, projectID) // what they decided about is judged again
	ids := make([]int64, len(list))
	for i, d := range list {
		ids[i] = d.ID
		tx.audit("vex.delete", subject("vex", d.ID), imageOfVEX(d.VEXDocument, d.Count), nil)
	}
	return tx.forgetVEX(ctx, ids...)
}

// mergeVEX hands the documents of a project to another, but for those of which
// that has one of the same name.
func (tx *Tx) mergeVEX(ctx context.Context, from, into int64) error {
	double, err := many(ctx, tx, scalar[int64], `SELECT f.id FROM vex_document f JOIN vex_document t
		ON t.deployment_id = f.deployment_id AND t.ref = f.ref AND t.projects_json = f.projects_json AND t.name = f.name AND t.proposed = f.proposed
		WHERE f.deployment_id = $1 AND f.project_id = $2 AND t.project_id = $3`, from, into)
	if err != nil {
		return err
	}
	if err := tx.forgetVEX(ctx, double...); err != nil {
		return err
	}
	if err := tx.mergeVEXRefusals(ctx, from, into); err != nil {
		return err
	}
	return tx.reassign(ctx, "vex_document", from, into)
}
