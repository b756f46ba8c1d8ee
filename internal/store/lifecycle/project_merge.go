package lifecycle

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/projects"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// MergeProjects merges two projects of the same repository. All data of from moves to into, which
// keeps its id and name; the names of from become aliases (docs/reference/projects.md). For data
// that both have, that of into stays: findings, decisions and fields of the project. For lockfiles
// the newer statement stays.
func (tx *Tx) MergeProjects(ctx context.Context, from, into int64) (model.Project, error) {
	if from == into {
		return model.Project{}, model.Invalid("into", "a project cannot be merged into itself")
	}
	source, err := tx.Project(ctx, from)
	if err != nil {
		return source, err
	}
	target, err := tx.Project(ctx, into)
	if err != nil {
		return target, err
	}
	m := &projectMerge{Tx: tx, from: source, into: target, stays: map[int64]int64{}}
	for _, step := range []func(context.Context, int64, int64) error{
		m.mergeFindings, tx.mergeInventories, tx.mergeScans, tx.MergeVEX, tx.MergeRuns, tx.mergeNames, tx.MergeRepository,
	} {
		if err := step(ctx, from, into); err != nil {
			return target, fmt.Errorf("merge %s into %s: %w", source.Name, target.Name, err)
		}
	}
	tx.Change(sqldb.ChangeProject, into) // exceptions of into now cover the moved findings
	tx.Audit("project.merge", sqldb.Subject("project", from), projects.AuditedProject(source),
		map[string]any{"merged_into": sqldb.Subject("project", into)})
	if err := tx.dropProject(ctx, from); err != nil {
		return target, err
	}
	merged := target
	merged.URL = cmp.Or(target.URL, source.URL)
	merged.RepoID = cmp.Or(target.RepoID, source.RepoID)
	merged.BoundRepoID = cmp.Or(target.BoundRepoID, source.BoundRepoID)
	merged.DefaultBranch = cmp.Or(target.DefaultBranch, source.DefaultBranch)
	merged.Visibility = cmp.Or(target.Visibility, source.Visibility)
	if len(merged.Tags) == 0 {
		merged.Tags = source.Tags
	}
	if _, err = tx.SaveProject(ctx, nil, target, merged); err != nil {
		return target, err
	}
	return tx.Project(ctx, into)
}

// projectMerge merges the findings of two projects.
type projectMerge struct {
	*Tx
	from, into model.Project
	stays      map[int64]int64 // findings of into by their duplicates in from, which are deleted
}

func (m *projectMerge) mergeFindings(ctx context.Context, from, into int64) error {
	if err := m.mergeIdentities(ctx, from, into); err != nil {
		return err
	}
	if err := m.mergeOccurrences(ctx, from, into); err != nil {
		return err
	}
	return m.mergeTickets(ctx)
}

// mergeOccurrences moves the findings. Those that into has on the same ref from the same source are
// deleted.
func (m *projectMerge) mergeOccurrences(ctx context.Context, from, into int64) error {
	err := sqldb.Each(ctx, m.Tx, func(r sqldb.Row) error {
		var merged, other int64
		err := r.Scan(&merged, &other)
		m.stays[merged] = other
		return err
	}, `
		SELECT f.id, t.id FROM finding f JOIN finding t ON t.deployment_id = f.deployment_id AND t.ref = f.ref
		AND t.source = f.source
			AND t.identity_kind = f.identity_kind AND t.identity_hash = f.identity_hash
		WHERE f.deployment_id = $1 AND f.project_id = $2 AND t.project_id = $3`, from, into)
	if err != nil {
		return err
	}
	if err := m.mergeAccounts(ctx, from, m.stays); err != nil {
		return err
	}
	if err := m.mergeHistories(ctx); err != nil {
		return err
	}
	double := slices.Sorted(maps.Keys(m.stays))
	for table, column := range map[string]string{
		"finding_event":   "finding_id",
		"finding_body":    "finding_id",
		"finding_subject": "finding_id",
		"finding_snippet": "finding_id",
		"finding":         "id",
	} {
		in, list := m.In(column, 2, double)
		if err := m.Write(ctx, `DELETE FROM `+table+` WHERE deployment_id = $1 AND `+in, list); err != nil {
			return err
		}
	}
	ids, err := sqldb.Many(
		ctx, m.Tx, sqldb.Scalar[int64], `SELECT id FROM finding WHERE deployment_id = $1 AND project_id = $2`, from,
	)
	if err != nil {
		return err
	}
	m.Change(sqldb.ChangeFinding, ids...)
	m.ChangeDeleted(sqldb.ChangeFinding, double...)
	return m.Write(ctx, `UPDATE finding SET project_id = $3, version = $4 WHERE deployment_id = $1 AND project_id = $2`,
		from, into, m.NextVersion())
}

// mergeAccounts replaces deleted findings by the remaining ones in the accounts of a project's
// scans. It also replaces the findings that blocked builds.
func (tx *Tx) mergeAccounts(ctx context.Context, from int64, stays map[int64]int64) error {
	if len(stays) == 0 {
		return nil
	}
	accounts, err := tx.PackedAccounts(ctx, from)
	if err != nil {
		return err
	}
	for _, a := range accounts {
		err := tx.RewriteAccount(ctx, a, func(id int64) int64 { return cmp.Or(stays[id], id) })
		if err != nil {
			return err
		}
	}
	return nil
}

// mergeInventories moves the lockfiles; for duplicates the newer statement stays.
func (tx *Tx) mergeInventories(ctx context.Context, from, into int64) error {
	older, err := sqldb.Many(ctx, tx, sqldb.Scalar[int64], `
		SELECT CASE WHEN f.stated_at > t.stated_at THEN t.id ELSE f.id END FROM inventory f
		JOIN inventory t ON t.deployment_id = f.deployment_id AND t.ref = f.ref AND t.lockfile = f.lockfile
		WHERE f.deployment_id = $1 AND f.project_id = $2 AND t.project_id = $3`, from, into)
	if err != nil {
		return err
	}
	if _, err := tx.DeleteInventories(ctx, older); err != nil {
		return err
	}
	return tx.Reassign(ctx, "inventory", from, into)
}

// mergeScans moves the scans and the time of the latest one. Repeated uploads to either project are
// processed again, because they may fix findings of the other one.
func (tx *Tx) mergeScans(ctx context.Context, from, into int64) error {
	if err := tx.Reassign(ctx, "scan", from, into); err != nil {
		return err
	}
	if err := tx.InvalidateUploads(ctx, into); err != nil {
		return err
	}
	return tx.Write(ctx, `
		UPDATE project SET latest_scan_at = (SELECT MAX(latest_scan_at) FROM project WHERE deployment_id = $1
		AND id IN ($2, $3))
		WHERE deployment_id = $1 AND id = $3`, from, into)
}

// mergeNames makes the name and aliases of one project aliases of the other.
func (tx *Tx) mergeNames(ctx context.Context, from, into int64) error {
	if err := tx.Reassign(ctx, "project_alias", from, into); err != nil {
		return err
	}
	return tx.Write(ctx, `INSERT INTO project_alias (deployment_id, name, project_id)
		SELECT deployment_id, name, $3 FROM project WHERE deployment_id = $1 AND id = $2`, from, into)
}

// mergeTickets links tickets to the remaining findings and updates the ticket annotations of the
// project's findings.
func (m *projectMerge) mergeTickets(ctx context.Context) error {
	var tickets []int64
	moved := map[int64]int64{} // remaining finding by lineage
	err := sqldb.Each(ctx, m.Tx, func(r sqldb.Row) error {
		var ticket, finding, lineage int64
		err := r.Scan(&ticket, &finding, &lineage)
		tickets = append(tickets, ticket)
		if stays, merged := m.stays[finding]; merged {
			moved[lineage] = stays
		}
		return err
	}, `SELECT t.ticket_id, t.finding_id, t.lineage_id FROM ticket_finding t
		JOIN lineage l ON l.deployment_id = t.deployment_id AND l.id = t.lineage_id
		WHERE t.deployment_id = $1 AND l.project_id = $2`, m.into.ID)
	if err != nil {
		return err
	}
	for lineage, stays := range moved {
		err := m.Write(
			ctx, `UPDATE ticket_finding SET finding_id = $3 WHERE deployment_id = $1 AND lineage_id = $2`, lineage, stays,
		)
		if err != nil {
			return err
		}
	}
	slices.Sort(tickets)
	_, err = m.SyncTicketAnnotations(ctx, slices.Compact(tickets))
	return err
}
