package exceptions

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// vexImage is the content of audit events about a VEX document.
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

func imageOfVEX(d model.VEXDocument, statements int) vexImage {
	i := vexImage{
		Name:       d.Name,
		Format:     d.Format,
		Author:     d.Author,
		Version:    d.Version,
		Ref:        d.Ref,
		Projects:   d.Projects,
		Statements: statements,
		Proposed:   d.Proposed,
	}
	if !d.IssuedAt.IsZero() {
		i.IssuedAt = d.IssuedAt.UTC().Format(time.RFC3339)
	}
	if d.ProjectID != 0 {
		i.Project = sqldb.Subject("project", d.ProjectID)
	}
	return i
}

const selectDocuments = selectExceptions + ` AND r.kind = 3`

// VEXDocument returns a document with its statements. An unknown one is model.ErrNotFound.
func (tx *Tx) VEXDocument(ctx context.Context, id int64) (model.VEXDocument, error) {
	e, err := sqldb.One(ctx, tx, scanException, selectDocuments+` AND r.state <= $3 AND r.id = $2`, id,
		int64(model.ExceptionActive))
	if err != nil {
		return model.VEXDocument{}, fmt.Errorf("VEX document %d: %w", id, err)
	}
	d := *e.Document
	statements, unread := sqldb.Many(ctx, tx, func(r sqldb.Row) (s model.VEXStatement, err error) {
		return s, r.Scan(sqldb.Decoded(&s))
	},
		`SELECT statement_json FROM exception_statement WHERE deployment_id = $1 AND exception_id = $2 ORDER BY place`, id)
	d.Statements = statements
	return d, cmp.Or(err, unread)
}

// CountVEX counts the active documents, or the proposed ones.
func (tx *Tx) CountVEX(ctx context.Context, proposed bool) (int, error) {
	return sqldb.One(ctx, tx, sqldb.Scalar[int],
		`SELECT COUNT(*) FROM exception WHERE deployment_id = $1 AND kind = 3 AND state = $2`, stateOfVEX(proposed))
}

func stateOfVEX(proposed bool) int64 {
	if proposed {
		return int64(model.ExceptionRequested)
	}
	return int64(model.ExceptionActive)
}

// StoredVEX returns the stored document with the same name, scope and proposal state, with its
// statements, or model.ErrNotFound.
func (tx *Tx) StoredVEX(ctx context.Context, d model.VEXDocument) (model.VEXDocument, error) {
	id, err := sqldb.One(ctx, tx, sqldb.Scalar[int64], `SELECT id FROM exception
		WHERE deployment_id = $1 AND kind = 3 AND project_id = $2 AND ref = $3 AND projects_json = $4 AND target = $5
		AND state = $6`,
		d.ProjectID, d.Ref, sqldb.Encoded(sqldb.OrEmpty(d.Projects)), d.Name, stateOfVEX(d.Proposed))
	if err != nil {
		return model.VEXDocument{}, err
	}
	return tx.VEXDocument(ctx, id)
}

// SaveVEX stores a document and returns its id. It replaces previous unless its id is 0.
func (tx *Tx) SaveVEX(ctx context.Context, d, previous model.VEXDocument) (id int64, err error) {
	action, before := "vex.create", any(nil)
	switch {
	case previous.ID != 0:
		d.ID, action, before = previous.ID, "vex.update", imageOfVEX(previous, len(previous.Statements))
		err = tx.forgetVEX(ctx, d.ID)
	case d.ID == 0:
		d.ID, err = tx.NewID(ctx, seqException)
	}
	if err != nil {
		return 0, err
	}
	var statements, names [][]any
	bytes := 0
	for position := range d.Statements {
		text := sqldb.Encoded(d.Statements[position])
		bytes += len(text)
		statements = append(statements, []any{d.ID, position, text})
		for _, name := range d.Statements[position].Names {
			names = append(names, []any{name, d.ID, position})
		}
	}
	e := model.Exception{
		ID: d.ID, State: model.ExceptionState(stateOfVEX(d.Proposed)), Target: d.Name,
		Projects: d.Projects, ProjectID: d.ProjectID, //nolint:gosec // 1 or 2
		CreatedAt: d.ReceivedAt, CreatedBy: d.ReceivedBy, Document: &d, Statements: len(d.Statements), Bytes: int64(bytes),
	}
	if !d.Proposed {
		e.DecidedAt, e.DecidedBy = d.ReceivedAt, d.ReceivedBy
	}
	if err := tx.insertException(ctx, e); err != nil {
		return 0, err
	}
	if err := tx.Insert(ctx, `exception_statement (deployment_id, exception_id, place, statement_json)`,
		statements, ""); err != nil {
		return 0, err
	}
	if err := tx.Insert(ctx, `exception_name (deployment_id, name, exception_id, place)`, names,
		"ON CONFLICT DO NOTHING"); err != nil {
		return 0, err
	}
	tx.Audit(action, sqldb.Subject("vex", d.ID), before, imageOfVEX(d, len(d.Statements)))
	return d.ID, tx.countRequestedExceptions(ctx)
}

// DeleteVEX deletes a document.
func (tx *Tx) DeleteVEX(ctx context.Context, d model.VEXDocument) error {
	tx.Audit("vex.delete", sqldb.Subject("vex", d.ID), imageOfVEX(d, len(d.Statements)), nil)
	if err := tx.forgetVEX(ctx, d.ID); err != nil {
		return err
	}
	return tx.countRequestedExceptions(ctx)
}

// EndVEX deletes the statements of a document and keeps its row as ended or refused.
func (tx *Tx) EndVEX(ctx context.Context, d model.VEXDocument, state model.ExceptionState, answer string) error {
	if state == model.ExceptionEnded { // RefuseVEX adds the event of a refusal
		tx.Audit("vex.delete", sqldb.Subject("vex", d.ID), imageOfVEX(d, len(d.Statements)), nil)
	}
	if err := tx.forgetStatements(ctx, d.ID); err != nil {
		return err
	}
	err := tx.Write(ctx, `UPDATE exception SET state = $3, decided_at = $4, decided_by_json = $5, answer = $6, bytes = `+
		`0 WHERE deployment_id = $1 AND id = $2`,
		d.ID, int64(state), tx.Now(), sqldb.Encoded(tx.Actor()), answer)
	if err != nil {
		return err
	}
	if err := tx.pruneExceptions(ctx); err != nil {
		return err
	}
	return tx.countRequestedExceptions(ctx)
}

func (tx *Tx) forgetVEX(ctx context.Context, ids ...int64) error {
	if len(ids) == 0 {
		return nil
	}
	if err := tx.forgetStatements(ctx, ids...); err != nil {
		return err
	}
	in, arg := tx.In("id", 2, ids)
	return tx.Write(ctx, `DELETE FROM exception WHERE deployment_id = $1 AND `+in, arg)
}

func (tx *Tx) forgetStatements(ctx context.Context, ids ...int64) error {
	in, arg := tx.In("exception_id", 2, ids)
	for _, table := range []string{"exception_name", "exception_statement"} {
		if err := tx.Write(ctx, `DELETE FROM `+table+` WHERE deployment_id = $1 AND `+in, arg); err != nil {
			return err
		}
	}
	return nil
}

// ForgetVEXOf deletes the documents of a project, or of one ref of it.
func (tx *Tx) ForgetVEXOf(ctx context.Context, projectID int64, ref string) error {
	query, args := selectDocuments+` AND r.state <= $2 AND r.project_id = $3`, []any{
		int64(model.ExceptionActive), projectID,
	}
	if ref != "" {
		query, args = query+` AND r.ref = $4`, append(args, ref)
	}
	list, err := sqldb.Many(ctx, tx, scanException, query+` ORDER BY r.id`, args...)
	if err != nil || len(list) == 0 {
		return err
	}
	tx.Change(sqldb.ChangeProject, projectID) // triggers a reevaluation of their decisions
	ids := make([]int64, len(list))
	for i, e := range list {
		ids[i] = e.ID
		tx.Audit("vex.delete", sqldb.Subject("vex", e.ID), imageOfVEX(*e.Document, e.Statements), nil)
	}
	if err := tx.forgetVEX(ctx, ids...); err != nil {
		return err
	}
	return tx.countRequestedExceptions(ctx)
}

// MergeVEX moves the documents of a project to another. Duplicates by name are deleted.
func (tx *Tx) MergeVEX(ctx context.Context, from, into int64) error {
	double, err := sqldb.Many(ctx, tx, sqldb.Scalar[int64], `SELECT f.id FROM exception f JOIN exception t
		ON t.deployment_id = f.deployment_id AND t.kind = f.kind AND t.ref = f.ref AND t.projects_json = f.projects_json
		AND t.target = f.target AND t.state = f.state
		WHERE f.deployment_id = $1 AND f.kind = 3 AND f.state <= $4 AND f.project_id = $2 AND t.project_id = $3`, from, into,
		int64(model.ExceptionActive))
	if err != nil {
		return err
	}
	if err := tx.forgetVEX(ctx, double...); err != nil {
		return err
	}
	if err := tx.mergeVEXRefusals(ctx, from, into); err != nil {
		return err
	}
	return tx.Reassign(ctx, "exception", from, into)
}

// VEXProposals returns the proposed documents of a project, oldest first.
func (tx *Tx) VEXProposals(ctx context.Context, projectID int64) ([]model.Exception, error) {
	return sqldb.Many(ctx, tx, scanException,
		selectDocuments+` AND r.project_id = $2 AND r.state = $3 ORDER BY r.created_at, r.id`, projectID, stateOfVEX(true))
}

// ProposedVEXBytes returns the total size of the deployment's proposals.
func (tx *Tx) ProposedVEXBytes(ctx context.Context) (int64, error) {
	return sqldb.One(ctx, tx, sqldb.Scalar[int64], `SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM exception WHERE `+
		`deployment_id = $1 AND kind = 3 AND state = $2`, stateOfVEX(true))
}

// MostVEXProposals returns VEXProposals of the project with the most proposals, by count or by
// bytes.
func (tx *Tx) MostVEXProposals(ctx context.Context, byBytes bool) ([]model.Exception, error) {
	by := "COUNT(*)"
	if byBytes {
		by = "SUM(bytes)"
	}
	most, err := sqldb.Many(ctx, tx, sqldb.Scalar[int64],
		`SELECT project_id FROM exception WHERE deployment_id = $1 AND kind = 3 AND state = $2
		GROUP BY project_id ORDER BY `+by+` DESC, MIN(created_at), project_id LIMIT 1`, stateOfVEX(true))
	if err != nil || len(most) == 0 {
		return nil, err
	}
	return tx.VEXProposals(ctx, most[0])
}

// RefusedVEX returns the ids of refused statements of a project.
func (tx *Tx) RefusedVEX(ctx context.Context, projectID int64, ids []string) (map[string]bool, error) {
	refused := map[string]bool{}
	in, arg := tx.In("statement", 3, ids)
	return refused, sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var id string
		err := r.Scan(&id)
		refused[id] = true
		return err
	}, `SELECT statement FROM exception_refusal WHERE deployment_id = $1 AND project_id = $2 AND `+in, projectID, arg)
}

// RefuseVEX stores that statements of a proposed document were refused. It deletes the project's
// oldest refusals above the limit.
func (tx *Tx) RefuseVEX(ctx context.Context, d model.VEXDocument, ids []string) error {
	rows := make([][]any, len(ids))
	for i, id := range ids {
		rows[i] = []any{d.ProjectID, id, tx.Now()}
	}
	const onConflict = `ON CONFLICT (deployment_id, project_id, statement) DO UPDATE SET refused_at = excluded.refused_at`
	if err := tx.Insert(ctx, `exception_refusal (deployment_id, project_id, statement, refused_at)`, rows,
		onConflict); err != nil {
		return err
	}
	tx.Audit("vex.refuse", sqldb.Subject("vex", d.ID), nil, imageOfVEX(d, len(ids)))
	_, err := tx.Exec(ctx,
		`DELETE FROM exception_refusal WHERE deployment_id = $1 AND project_id = $2 AND statement IN (SELECT statement
			FROM exception_refusal
		WHERE deployment_id = $1 AND project_id = $2 ORDER BY refused_at DESC, statement LIMIT 1000000000 OFFSET $3)`,
		d.ProjectID, model.MaxVEXRefusals)
	return err
}

// mergeVEXRefusals moves the refusals of a project to another.
func (tx *Tx) mergeVEXRefusals(ctx context.Context, from, into int64) error {
	_, err := tx.Exec(ctx, `DELETE FROM exception_refusal WHERE deployment_id = $1 AND project_id = $2 AND statement IN
		(SELECT statement FROM exception_refusal WHERE deployment_id = $1 AND project_id = $3)`, from, into)
	if err != nil {
		return err
	}
	return tx.Reassign(ctx, "exception_refusal", from, into)
}
