package lifecycle

import (
	"github.com/redoubt/redoubt/internal/store/projects"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

import "context"

// ProjectHolding contains counts of the data that is deleted with a project.
type ProjectHolding struct {
	Findings  int // on all refs
	Decisions int // decisions by users and rules, and comments
	Scans     int
	Lockfiles int // including bills of materials
	VEX       int // VEX documents of the project
	Runs      int // managed runs
	Names     int // former names
}

// ProjectHolding counts the data of a project. All counts of an unknown project are 0.
func (tx *Tx) ProjectHolding(ctx context.Context, id int64) (ProjectHolding, error) {
	const ofProject = ` WHERE deployment_id = $1 AND project_id = $2)`
	return sqldb.One(ctx, tx, func(r sqldb.Row) (h ProjectHolding, err error) {
		return h, r.Scan(&h.Findings, &h.Decisions, &h.Scans, &h.Lockfiles, &h.VEX, &h.Runs, &h.Names)
	}, `SELECT (SELECT COUNT(*) FROM finding`+ofProject+`,
		(SELECT COUNT(*) FROM triage_event WHERE deployment_id = $1 AND lineage_id IN (SELECT id FROM lineage`+ofProject+`) +
		(SELECT COUNT(*) FROM finding_comment WHERE deployment_id = $1 AND lineage_id IN (SELECT id
		FROM lineage`+ofProject+`),
		(SELECT COUNT(*)
		FROM scan`+ofProject+`, (SELECT COUNT(*)
			FROM inventory`+ofProject+`, (SELECT COUNT(*) FROM exception
			WHERE deployment_id = $1 AND project_id = $2 AND kind = 3 AND state <= 2),
		(SELECT COUNT(*) FROM managed_run`+ofProject+`, (SELECT COUNT(*) FROM project_alias`+ofProject, id)
}

// DeleteProject deletes a project and all its data except the audit trail
// (docs/reference/projects.md). Its names can be used again.
func (tx *Tx) DeleteProject(ctx context.Context, id int64) error {
	p, err := tx.Project(ctx, id)
	if err != nil {
		return err
	}
	if err := tx.EndRequestsOf(ctx, id); err != nil {
		return err
	}
	if err := tx.announceDeletedFindings(ctx, id); err != nil {
		return err
	}
	if err := tx.ForgetVEXOf(ctx, id, ""); err != nil {
		return err
	}
	if err := tx.DropRunsOf(ctx, id); err != nil {
		return err
	}
	tickets, err := sqldb.Many(ctx, tx, sqldb.Scalar[int64], `SELECT DISTINCT t.ticket_id FROM ticket_finding t
		JOIN lineage l ON l.deployment_id = t.deployment_id AND l.id = t.lineage_id
		WHERE t.deployment_id = $1 AND l.project_id = $2`, id)
	if err != nil {
		return err
	}
	const (
		ofProject   = ` WHERE deployment_id = $1 AND project_id = $2`
		inventories = ` WHERE deployment_id = $1 AND inventory_id IN (SELECT id FROM inventory` + ofProject + `)`
		lineages    = ` WHERE deployment_id = $1 AND lineage_id IN (SELECT id FROM lineage` + ofProject + `)`
		scans       = ` WHERE deployment_id = $1 AND scan_id IN (SELECT id FROM scan` + ofProject + `)`
		comments    = ` WHERE deployment_id = $1 AND comment_id IN (SELECT id FROM finding_comment` + lineages + `)`
		findings    = ` WHERE deployment_id = $1 AND finding_id IN (SELECT id FROM finding` + ofProject + `)`
	)
	for _, rows := range []string{
		"finding_event" + findings, "finding_body" + findings,
		"finding_subject" + findings, "finding_snippet" + findings, "finding" + ofProject,
		"finding_comment_mention" + comments, "finding_comment" + lineages,
		"exception_finding" + lineages, "exception" + ofProject,
		"triage_event" + lineages, "ticket_finding" + lineages, "lineage_identity" + ofProject, "lineage" + ofProject,
		"dependency" + inventories, "inventory_graph" + inventories,
		"inventory_content" + inventories, "inventory" + ofProject,
		"agent_scan" + scans, "scan_account" + scans,
		"scan" + ofProject, "project_alias" + ofProject, "exception_refusal" + ofProject,
	} {
		if err := tx.Write(ctx, `DELETE FROM `+rows, id); err != nil {
			return err
		}
	}
	if _, err := tx.SyncTicketAnnotations(ctx, tickets); err != nil {
		return err
	}
	if err := tx.Reassign(ctx, "repository", id, 0); err != nil { // its repository may get another project
		return err
	}
	tx.Audit("project.delete", sqldb.Subject("project", id), projects.AuditedProject(p), nil)
	return tx.dropProject(ctx, id)
}

// announceDeletedFindings adds the deletion of a project's findings and lineages to the feed.
func (tx *Tx) announceDeletedFindings(ctx context.Context, projectID int64) error {
	for kind, table := range map[sqldb.ChangeKind]string{sqldb.ChangeFinding: "finding", sqldb.ChangeLineage: "lineage"} {
		ids, err := sqldb.Many(
			ctx, tx, sqldb.Scalar[int64], `SELECT id FROM `+table+` WHERE deployment_id = $1 AND project_id = $2`, projectID,
		)
		if err != nil {
			return err
		}
		tx.ChangeDeleted(kind, ids...)
	}
	return nil
}

// dropProject deletes the row of a project without data.
func (tx *Tx) dropProject(ctx context.Context, id int64) error {
	if err := tx.PutTags(ctx, id, nil); err != nil {
		return err
	}
	tx.ChangeDeleted(sqldb.ChangeProject, id)
	return tx.Write(ctx, `DELETE FROM project WHERE deployment_id = $1 AND id = $2`, id)
}
