package store

import (
	"context"
	"maps"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
)

// feedTables lists what is fed, dictionaries before the findings that need
// them. A row of the feed is in the table named, under its id.
var feedTables = []struct {
	kind  changeKind
	table string
	read  func(context.Context, *Tx, *model.Batch, []int64) error
}{
	{changeProject, "project", feedProjects},
	{changeRule, "rule", feedRules},
	{changePolicy, "policy", feedPolicies},
	{changePolicyRule, "policy_rule", feedPolicyRules},
	{changeLineage, "lineage", feedLineages},
	{changeFinding, "finding", feedFindings},
}

// Version is that of the deployment's newest commit. An unknown deployment is
// model.ErrNotFound.
func (s *Store) Version(ctx context.Context, deploymentID int64) (version int64, err error) {
	err = s.ask(ctx, func(ctx context.Context) error { return s.queryVersion(ctx, deploymentID).Scan(&version) })
	return version, err
}

// Versions are those of the deployments named, without those that there are not.
func (s *Store) Versions(ctx context.Context, deploymentIDs []int64) (map[int64]int64, error) {
	versions := make(map[int64]int64, len(deploymentIDs))
	in, list := s.list("id", 1, cleanList(deploymentIDs))
	err := s.ask(ctx, func(ctx context.Context) error {
		return each(ctx, s.indexPool(), func(r row) error {
			var id, version int64
			err := r.Scan(&id, &version)
			versions[id] = version
			return err
		}, `SELECT id, version FROM deployment WHERE `+in, list)
	})
	return versions, err
}

// Feed hands over everything when since is 0, else what changed after that
// version, removed findings included, in batches that are all of one state of
// the store, and returns its version. Rows come with their present content,
// each once; deletes come last. A feed that was pruned past since, or that never
// was there, answers stale = true and hands over nothing: build anew. take
// may keep the batch. When since is 0, several may come at the same time.
func (s *Store) Feed(ctx context.Context, deploymentID, since int64, take func(*model.Batch) error) (version int64, stale bool, err error) {
	if since == 0 {
		err := s.together(ctx, deploymentID, func(ctx context.Context, all []*Tx) error {
			version = all[0].Version()
			return feedAll(ctx, all, take)
		})
		return version, false, err
	}
	err = s.viewForIndex(ctx, deploymentID, func(ctx context.Context, tx *Tx) error {
		version = tx.Version()
		if known, err := tx.knows(ctx, since); err != nil || !known || since == version {
			stale = err == nil && !known
			return err
		}
		return tx.feedChanges(ctx, since, take)
	})
	return version, stale, err
}

// feedAll hands everything over: dictionaries by one transaction, then lineages and
// findings by all of them.
func feedAll(ctx context.Context, all []*Tx, take func(*model.Batch) error) error {
	tx := all[0]
	for _, t := range feedTables {
		if t.kind == changeLineage || t.kind == changeFinding {
			continue
		}
		ids, err := many(ctx, tx, scalar[int64], `SELECT id FROM `+t.table+` WHERE deployment_id = $1 ORDER BY id`)
		if err != nil {
			return err
		}
		if err := tx.feedRows(ctx, ids, t.read, take); err != nil {
			return err
		}
	}
	err := feedWide(ctx, all, "lineage", func(ctx context.Context, tx *Tx, from, to int64) error {
		return feedLineagesWide(ctx, tx, from, to, take)
	})
	if err != nil {
		return err
	}
	return feedWide(ctx, all, "finding", func(ctx context.Context, tx *Tx, from, to int64) error {
		return feedStream(ctx, tx, scanFedFinding, fedFindingFields, func(list []model.IndexedFinding) *model.Batch { return &model.Batch{Findings: list} },
			take, fedFindings+`f.id >= $2 AND f.id < $3 ORDER BY f.id`, from, to)
	})
}

func (tx *Tx) feedRows(ctx context.Context, ids []int64, read func(context.Context, *Tx, *model.Batch, []int64) error, take func(*model.Batch) error) error {
	for part := range slices.Chunk(ids, feedBatch) {
		batch := &model.Batch{}
		if err := read(ctx, tx, batch, part); err != nil {
			return err
		}
		if err := take(batch); err != nil {
			return err
		}
	}
	return nil
}

func (tx *Tx) feedChanges(ctx context.Context, since int64, take func(*model.Batch) error) error {
	changed, err := tx.changesSince(ctx, since)
	if err != nil {
		return err
	}
	gone := map[changeKind][]int64{}
	for _, t := range feedTables {
		var here []int64
		for _, id := range slices.Sorted(maps.Keys(changed[t.kind])) {
			if changed[t.kind][id] {
				gone[t.kind] = append(gone[t.kind], id)
			} else {
				here = append(here, id)
			}
		}
		if err := tx.feedRows(ctx, here, t.read, take); err != nil {
			return err
		}
	}
	if len(gone) == 0 {
		return nil
	}
	return take(&model.Batch{
		DeletedPolicies: gone[changePolicy], DeletedProjects: gone[changeProject], DeletedLineages: gone[changeLineage], DeletedFindings: gone[changeFinding],
	})
}

// changesSince gathers which rows changed after a version, and whether the last
// change deleted them.
func (tx *Tx) changesSince(ctx context.Context, since int64) (map[changeKind]map[int64]bool, error) {
	changed := map[changeKind]map[int64]bool{}
	return changed, tx.changeRuns(ctx, since, func(run changeRun) {
		if changed[run.kind] == nil {
			changed[run.kind] = map[int64]bool{}
		}
		for id := run.id; id <= run.last(); id++ {
			changed[run.kind][id] = run.deleted
		}
	})
}

// changeRuns hands over what changed after a version, in the order in which it did.
func (tx *Tx) changeRuns(ctx context.Context, since int64, take func(changeRun)) error {
	return each(ctx, tx, func(r row) error {
		var run changeRun
		err := r.Scan(&run.kind, &run.id, &run.more, &run.deleted)
		if err == nil {
			take(run)
		}
		return err
	}, `SELECT kind, id, more, deleted FROM change WHERE deployment_id = $1 AND version > $2 ORDER BY version`, since)
}

func feedProjects(ctx context.Context, tx *Tx, b *model.Batch, ids []int64) (err error) {
	if b.Projects, err = tx.ProjectsByID(ctx, ids); err != nil {
		return err
	}
	in, arg := tx.in("project_id", 2, ids)
	return each(ctx, tx, func(r row) error {
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
	in, arg := tx.in("id", 2, ids)
	b.Rules, err = many(ctx, tx, scanRule, `SELECT id, content_json FROM rule WHERE deployment_id = $1 AND `+in, arg)
	return err
}

func feedPolicies(ctx context.Context, tx *Tx, b *model.Batch, ids []int64) (err error) {
	in, arg := tx.in("id", 2, ids)
	b.Policies, err = many(ctx, tx, scanPolicy, `SELECT `+policyColumns+` FROM policy WHERE deployment_id = $1 AND `+in, arg)
	return err
}

func feedPolicyRules(ctx context.Context, tx *Tx, b *model.Batch, ids []int64) (err error) {
	in, arg := tx.in("pr.id", 2, ids)
	b.PolicyRules, err = many(ctx, tx, scanPolicyRule, policyRuleSelect+` AND `+in, arg)
	return err
}

func feedLineages(ctx context.Context, tx *Tx, b *model.Batch, ids []int64) (err error) {
	in, arg := tx.in("id", 2, ids)
	p := newPlainRow(fedLineageFields)
	b.Lineages, err = many(ctx, tx, func(r row) (model.Lineage, error) { return scanFedLineage(p, r) }, fedLineages+in+` ORDER BY id`, arg)
	return err
}

func feedFindings(ctx context.Context, tx *Tx, b *model.Batch, ids []int64) (err error) {
	in, arg := tx.in("f.id", 2, ids)
	p := newPlainRow(fedFindingFields)
	b.Findings, err = many(ctx, tx, func(r row) (model.IndexedFinding, error) { return scanFedFinding(p, r) }, fedFindings+in+` ORDER BY f.id`, arg)
	return err
}

// Bodies reads bodies by finding id, for those that do not fit in memory.
// Unknown ids are not in the answer.
func (s *Store) Bodies(ctx context.Context, deploymentID int64, ids []int64) (map[int64][]byte, error) {
	bodies := make(map[int64][]byte, len(ids))
	err := s.viewForIndex(ctx, deploymentID, func(ctx context.Context, tx *Tx) error {
		in, arg := tx.in("finding_id", 2, ids)
		return each(ctx, tx, func(r row) error {
			var id int64
			var body []byte
			err := r.Scan(&id, &body)
			bodies[id] = body
			return err
		}, `SELECT finding_id, body FROM finding_body WHERE deployment_id = $1 AND `+in, arg)
	})
	return bodies, err
}

// PruneChanges forgets which rows changed before the newest commits, so many of which
// are kept, as every reader has come past it. One that has not finds its feed stale and
// builds anew.
func (s *Store) PruneChanges(ctx context.Context, deploymentID, kept int64) error {
	by := model.Actor{Kind: "system", Name: "prune"}
	return s.Update(ctx, deploymentID, by, func(ctx context.Context, tx *Tx) error {
		before := model.FirstVersion(model.Commits(tx.Version()) - kept + 1)
		through, err := one(ctx, tx, scalar[int64], `SELECT COALESCE(MAX(version), 0) FROM change WHERE deployment_id = $1 AND version < $2`, before)
		if err != nil {
			return err
		}
		if err := tx.write(ctx, `DELETE FROM change WHERE deployment_id = $1 AND version <= $2`, through); err != nil {
			return err
		}
		return tx.write(ctx, `UPDATE deployment SET pruned_version = $2 WHERE id = $1 AND pruned_version < $2`, through)
	})
}
