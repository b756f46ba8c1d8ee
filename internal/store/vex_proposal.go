package store

import (
	"context"

	"github.com/redoubt/redoubt"
)

// heldVEX reads a document that is held, with the name of its project and how
// many statements it has.
func heldVEX(r row) (h redoubt.VEXHolding, err error) {
	return h, r.Scan(append(vexFields(&h.VEXDocument), &h.Count, &h.Bytes, &h.Project)...)
}

const vexHoldings = `SELECT d.id, d.name, d.project_id, d.ref, d.projects_json, d.format, d.author, d.file, d.version, d.issued_at, d.received_at, d.received_by,
		d.proposed, d.statements, d.bytes, COALESCE(p.name, '')
	FROM vex_document d LEFT JOIN project p ON p.deployment_id = d.deployment_id AND p.id = d.project_id
	WHERE d.deployment_id = $1`

// VEXQuery selects documents that are held.
type VEXQuery struct {
	Proposed *bool                // those that are proposed, or those that count; nil is both
	Globs    redoubt.ProjectGlobs // only those for projects that these allow, and for no others
	After    int64                // an id; 0 is the start
	Skip     int                  // so many of them first
	Limit    int                  // of what is answered
}

// VEXDocuments lists documents that are held, by id, and says whether there are
// more.
func (tx *Tx) VEXDocuments(ctx context.Context, q VEXQuery) (list []redoubt.VEXHolding, more bool, err error) {
	seen := func(h redoubt.VEXHolding) bool {
		if h.ProjectID == 0 {
			return q.Globs.Contain(h.Projects)
		}
		return q.Globs.Allows(h.Project)
	}
	query, args := vexHoldings+` AND d.id > $2 ORDER BY d.id LIMIT $3 OFFSET $4`, []any{q.After, unlessKept(q.Limit, q.Globs), q.Skip}
	if q.Proposed != nil {
		query, args = vexHoldings+` AND d.id > $2 AND d.proposed = $5 ORDER BY d.id LIMIT $3 OFFSET $4`, append(args, *q.Proposed)
	}
	list, more, err = upTo(ctx, tx, q.Limit, seen, heldVEX, query, args...)
	if err != nil || len(list) == 0 {
		return list, more, err
	}
	return list, more, tx.countDecided(ctx, list)
}

// VEXHolding finds a document that is held, without its statements. An unknown
// one, and one that is for other projects than the globs allow, is
// redoubt.ErrNotFound.
func (tx *Tx) VEXHolding(ctx context.Context, id int64, globs redoubt.ProjectGlobs) (redoubt.VEXHolding, error) {
	h, err := one(ctx, tx, heldVEX, vexHoldings+` AND d.id = $2`, id)
	if err != nil {
		return h, err
	}
	if h.ProjectID != 0 && !globs.Allows(h.Project) || h.ProjectID == 0 && !globs.Contain(h.Projects) {
		return redoubt.VEXHolding{}, redoubt.ErrNotFound
	}
	list := []redoubt.VEXHolding{h}
	err = tx.countDecided(ctx, list)
	return list[0], err
}

// countDecided counts the lineages that documents decided about last.
func (tx *Tx) countDecided(ctx context.Context, list []redoubt.VEXHolding) error {
	actors, at := make([]string, len(list)), map[redoubt.Actor]int{}
	for i := range list {
		by := list[i].Actor()
		actors[i], at[by] = encoded(by), i
	}
	in, arg := tx.in("triaged_by_json", 3, actors)
	return each(ctx, tx, func(r row) error {
		var by redoubt.Actor
		var n int
		err := r.Scan(decoded(&by), &n)
		if i, known := at[by]; known {
			list[i].Decides = n
		}
		return err
	}, `SELECT triaged_by_json, COUNT(*) FROM lineage WHERE deployment_id = $1 AND automatic = 1
		AND NOT (triage_state = $2 AND triage_comment = '') AND `+in+` GROUP BY triaged_by_json`, int64(redoubt.TriageReopened), arg)
}

// VEXProposals lists what is proposed of a project, the oldest first.
func (tx *Tx) VEXProposals(ctx context.Context, projectID int64) ([]redoubt.VEXHolding, error) {
	return many(ctx, tx, heldVEX, vexHoldings+` AND d.project_id = $2 AND d.proposed = 1 ORDER BY d.received_at, d.id`, projectID)
}

// ProposedVEXBytes is how many bytes all proposals of the deployment say.
func (tx *Tx) ProposedVEXBytes(ctx context.Context) (int64, error) {
	return one(ctx, tx, scalar[int64], `SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM vex_document WHERE deployment_id = $1 AND proposed = 1`)
}

// MostVEXProposals is VEXProposals of the project that has most documents, or whose
// documents say most.
func (tx *Tx) MostVEXProposals(ctx context.Context, byBytes bool) ([]redoubt.VEXHolding, error) {
	by := "COUNT(*)"
	if byBytes {
		by = "SUM(bytes)"
	}
	most, err := many(ctx, tx, scalar[int64], `SELECT project_id FROM vex_document WHERE deployment_id = $1 AND proposed = 1
		GROUP BY project_id ORDER BY `+by+` DESC, MIN(received_at), project_id LIMIT 1`)
	if err != nil || len(most) == 0 {
		return nil, err
	}
	return tx.VEXProposals(ctx, most[0])
}

// RefusedVEX tells which statements were refused of a project, by their ids.
func (tx *Tx) RefusedVEX(ctx context.Context, projectID int64, ids []string) (map[string]bool, error) {
	refused := map[string]bool{}
	in, arg := tx.in("statement", 3, ids)
	return refused, each(ctx, tx, func(r row) error {
		var id string
		err := r.Scan(&id)
		refused[id] = true
		return err
	}, `SELECT statement FROM vex_refusal WHERE deployment_id = $1 AND project_id = $2 AND `+in, projectID, arg)
}

// RefuseVEX remembers that statements of a proposed document were refused, and
// forgets the oldest of such that its project has too many of.
func (tx *Tx) RefuseVEX(ctx context.Context, d redoubt.VEXDocument, ids []string) error {
	rows := make([][]any, len(ids))
	for i, id := range ids {
		rows[i] = []any{d.ProjectID, id, tx.now}
	}
	const again = `ON CONFLICT (deployment_id, project_id, statement) DO UPDATE SET refused_at = excluded.refused_at`
	if err := tx.insert(ctx, `vex_refusal (deployment_id, project_id, statement, refused_at)`, rows, again); err != nil {
		return err
	}
	tx.audit("vex.refuse", subject("vex", d.ID), nil, imageOfVEX(d, len(ids)))
	_, err := tx.exec(ctx, `DELETE FROM vex_refusal WHERE deployment_id = $1 AND project_id = $2 AND statement IN (SELECT statement FROM vex_refusal
		WHERE deployment_id = $1 AND project_id = $2 ORDER BY refused_at DESC, statement LIMIT 1000000000 OFFSET $3)`, d.ProjectID, redoubt.MaxVEXRefusals)
	return err
}

// mergeVEXRefusals hands what was refused of a project to another.
func (tx *Tx) mergeVEXRefusals(ctx context.Context, from, into int64) error {
	_, err := tx.exec(ctx, `DELETE FROM vex_refusal WHERE deployment_id = $1 AND project_id = $2 AND statement IN
		(SELECT statement FROM vex_refusal WHERE deployment_id = $1 AND project_id = $3)`, from, into)
	if err != nil {
		return err
	}
	return tx.reassign(ctx, "vex_refusal", from, into)
}
