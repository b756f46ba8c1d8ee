package feed

import (
	"context"
	"maps"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/policies"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// feedTables are the tables of the feed, with dictionaries before the findings that refer to them.
// A feed row refers to the row of the table with its id.
var feedTables = []struct {
	kind  sqldb.ChangeKind
	table string
	read  func(context.Context, *Tx, *model.Batch, []int64) error
}{
	{sqldb.ChangeProject, "project", feedProjects},
	{sqldb.ChangeRule, "rule", feedRules},
	{sqldb.ChangePolicy, "policy", feedPolicies},
	{sqldb.ChangePolicyRule, "policy_rule", feedPolicyRules},
	{sqldb.ChangeLineage, "lineage", feedLineages},
	{sqldb.ChangeFinding, "finding", feedFindings},
}

// Version returns the version of the deployment's newest commit. An unknown deployment is
// model.ErrNotFound.
func (s *DB) Version(ctx context.Context, deploymentID int64) (version int64, err error) {
	err = s.RunQuery(ctx, func(ctx context.Context) error { return s.QueryVersion(ctx, deploymentID).Scan(&version) })
	return version, err
}

// Versions returns the versions of deployments; unknown ones are omitted.
func (s *DB) Versions(ctx context.Context, deploymentIDs []int64) (map[int64]int64, error) {
	versions := make(map[int64]int64, len(deploymentIDs))
	in, list := s.List("id", 1, sqldb.CleanList(deploymentIDs))
	err := s.RunQuery(ctx, func(ctx context.Context) error {
		return sqldb.Each(ctx, s.IndexPool(), func(r sqldb.Row) error {
			var id, version int64
			err := r.Scan(&id, &version)
			versions[id] = version
			return err
		}, `SELECT id, version FROM deployment WHERE `+in, list)
	})
	return versions, err
}

// Feed calls emit with batches of one snapshot and returns its version. If since is 0 they contain
// everything, else the changes after that version. Each changed row occurs once with its current
// content; deletions follow last.
//
// If the feed was pruned past since, or since is of a lost history, stale is true. Then emit is not
// called, and the caller must read everything. emit may retain the batch. If since is 0, it may be
// called concurrently.
func (s *DB) Feed(
	ctx context.Context, deploymentID, since int64, emit func(*model.Batch) error,
) (version int64, stale bool, err error) {
	if since == 0 {
		err := s.Together(ctx, deploymentID, func(ctx context.Context, bases []*sqldb.Tx) error {
			all := make([]*Tx, len(bases))
			for i, base := range bases {
				tx := From(base)
				all[i] = &tx
			}
			version = all[0].Version()
			return feedAll(ctx, all, emit)
		})
		return version, false, err
	}
	err = s.viewForIndex(ctx, deploymentID, func(ctx context.Context, tx *Tx) error {
		version = tx.Version()
		if known, err := tx.Knows(ctx, since); err != nil || !known || since == version {
			stale = err == nil && !known
			return err
		}
		return tx.feedChanges(ctx, since, emit)
	})
	return version, stale, err
}

// feedAll reads everything: dictionaries with one transaction, then lineages and findings with all
// of them.
func feedAll(ctx context.Context, all []*Tx, emit func(*model.Batch) error) error {
	tx := all[0]
	for _, t := range feedTables {
		if t.kind == sqldb.ChangeLineage || t.kind == sqldb.ChangeFinding {
			continue
		}
		ids, err := sqldb.Many(
			ctx, tx, sqldb.Scalar[int64], `SELECT id FROM `+t.table+` WHERE deployment_id = $1 ORDER BY id`,
		)
		if err != nil {
			return err
		}
		if err := tx.feedRows(ctx, ids, t.read, emit); err != nil {
			return err
		}
	}
	err := feedWide(ctx, all, "lineage", func(ctx context.Context, tx *Tx, from, to int64) error {
		return feedLineagesWide(ctx, tx, from, to, emit)
	})
	if err != nil {
		return err
	}
	return feedWide(ctx, all, "finding", func(ctx context.Context, tx *Tx, from, to int64) error {
		return feedStream(ctx, tx, scanFedFinding, fedFindingFields, func(list []model.IndexedFinding) *model.Batch {
			return &model.Batch{Findings: list}
		},
			emit, fedFindings+`f.id >= $2 AND f.id < $3 ORDER BY f.id`, from, to)
	})
}

func (tx *Tx) feedRows(ctx context.Context, ids []int64, read func(
	context.Context, *Tx, *model.Batch, []int64,
) error, emit func(*model.Batch) error,
) error {
	for part := range slices.Chunk(ids, sqldb.FeedBatch) {
		batch := &model.Batch{}
		if err := read(ctx, tx, batch, part); err != nil {
			return err
		}
		if err := emit(batch); err != nil {
			return err
		}
	}
	return nil
}

func (tx *Tx) feedChanges(ctx context.Context, since int64, emit func(*model.Batch) error) error {
	changed, err := tx.changesSince(ctx, since)
	if err != nil {
		return err
	}
	gone := map[sqldb.ChangeKind][]int64{}
	for _, t := range feedTables {
		var present []int64
		for _, id := range slices.Sorted(maps.Keys(changed[t.kind])) {
			if changed[t.kind][id] {
				gone[t.kind] = append(gone[t.kind], id)
			} else {
				present = append(present, id)
			}
		}
		if err := tx.feedRows(ctx, present, t.read, emit); err != nil {
			return err
		}
	}
	if len(gone) == 0 {
		return nil
	}
	return emit(&model.Batch{
		DeletedPolicies: gone[sqldb.ChangePolicy], DeletedProjects: gone[sqldb.ChangeProject],
		DeletedLineages: gone[sqldb.ChangeLineage], DeletedFindings: gone[sqldb.ChangeFinding],
	})
}

// changesSince returns the rows changed after a version, and whether the last change deleted them.
func (tx *Tx) changesSince(ctx context.Context, since int64) (map[sqldb.ChangeKind]map[int64]bool, error) {
	changed := map[sqldb.ChangeKind]map[int64]bool{}
	return changed, tx.changeRuns(ctx, since, func(run sqldb.ChangeRun) {
		if changed[run.Kind] == nil {
			changed[run.Kind] = map[int64]bool{}
		}
		for id := run.ID; id <= run.Last(); id++ {
			changed[run.Kind][id] = run.Deleted
		}
	})
}

// changeRuns calls visit with the changes after a version, in order.
func (tx *Tx) changeRuns(ctx context.Context, since int64, visit func(sqldb.ChangeRun)) error {
	return sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var run sqldb.ChangeRun
		err := r.Scan(&run.Kind, &run.ID, &run.More, &run.Deleted)
		if err == nil {
			visit(run)
		}
		return err
	}, `SELECT kind, id, more, deleted FROM change WHERE deployment_id = $1 AND version > $2 ORDER BY version`, since)
}

func feedProjects(ctx context.Context, tx *Tx, b *model.Batch, ids []int64) (err error) {
	if b.Projects, err = tx.ProjectsByID(ctx, ids); err != nil {
		return err
	}
	in, arg := tx.In("project_id", 2, ids)
	return sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var id int64
		var name string
		err := r.Scan(&id, &name)
		if i := slices.IndexFunc(b.Projects, func(p model.Project) bool { return p.ID == id }); i >= 0 {
			b.Projects[i].OldNames = append(b.Projects[i].OldNames, name)
		}
		return err
	}, `SELECT project_id, name FROM project_alias WHERE deployment_id = $1 AND `+in+` ORDER BY project_id, name`, arg)
}

func feedRules(ctx context.Context, tx *Tx, b *model.Batch, ids []int64) (err error) {
	in, arg := tx.In("id", 2, ids)
	b.Rules, err = sqldb.Many(
		ctx, tx, policies.ScanRule, `SELECT id, content_json FROM rule WHERE deployment_id = $1 AND `+in, arg,
	)
	return err
}

func feedPolicies(ctx context.Context, tx *Tx, b *model.Batch, ids []int64) (err error) {
	in, arg := tx.In("id", 2, ids)
	b.Policies, err = sqldb.Many(
		ctx, tx, policies.ScanPolicy, `SELECT `+policies.PolicyColumns+` FROM policy WHERE deployment_id = $1 AND `+in, arg,
	)
	return err
}

func feedPolicyRules(ctx context.Context, tx *Tx, b *model.Batch, ids []int64) (err error) {
	in, arg := tx.In("pr.id", 2, ids)
	b.PolicyRules, err = sqldb.Many(ctx, tx, policies.ScanPolicyRule, policies.PolicyRuleSelect+` AND `+in, arg)
	return err
}

func feedLineages(ctx context.Context, tx *Tx, b *model.Batch, ids []int64) (err error) {
	in, arg := tx.In("id", 2, ids)
	p := newPlainRow(fedLineageFields)
	b.Lineages, err = sqldb.Many(ctx, tx, func(r sqldb.Row) (model.Lineage, error) {
		return scanFedLineage(p, r)
	}, fedLineages+in+` ORDER BY id`, arg)
	return err
}

func feedFindings(ctx context.Context, tx *Tx, b *model.Batch, ids []int64) (err error) {
	in, arg := tx.In("f.id", 2, ids)
	p := newPlainRow(fedFindingFields)
	b.Findings, err = sqldb.Many(ctx, tx, func(r sqldb.Row) (model.IndexedFinding, error) {
		return scanFedFinding(p, r)
	}, fedFindings+in+` ORDER BY f.id`, arg)
	return err
}

// Bodies returns bodies that do not fit in memory, by finding id; unknown ids are omitted.
func (s *DB) Bodies(ctx context.Context, deploymentID int64, ids []int64) (map[int64][]byte, error) {
	bodies := make(map[int64][]byte, len(ids))
	err := s.viewForIndex(ctx, deploymentID, func(ctx context.Context, tx *Tx) error {
		in, arg := tx.In("finding_id", 2, ids)
		return sqldb.Each(ctx, tx, func(r sqldb.Row) error {
			var id int64
			var body []byte
			err := r.Scan(&id, &body)
			bodies[id] = body
			return err
		}, `SELECT finding_id, body FROM finding_body WHERE deployment_id = $1 AND `+in, arg)
	})
	return bodies, err
}

// PruneChanges deletes feed rows except those of the newest commits, whose number is retained. A reader
// that is further behind gets a stale feed and reads everything.
func (s *DB) PruneChanges(ctx context.Context, deploymentID, retained int64) error {
	by := model.Actor{Kind: "system", Name: "prune"}
	return s.update(ctx, deploymentID, by, func(ctx context.Context, tx *Tx) error {
		before := model.FirstVersion(model.Commits(tx.Version()) - retained + 1)
		through, err := sqldb.One(ctx, tx, sqldb.Scalar[int64],
			`SELECT COALESCE(MAX(version), 0) FROM change WHERE deployment_id = $1 AND version < $2`, before)
		if err != nil {
			return err
		}
		if err := tx.Write(ctx, `DELETE FROM change WHERE deployment_id = $1 AND version <= $2`, through); err != nil {
			return err
		}
		return tx.Write(ctx, `UPDATE deployment SET pruned_version = $2 WHERE id = $1 AND pruned_version < $2`, through)
	})
}
