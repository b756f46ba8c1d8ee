package advisories

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"slices"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/inventory"
	"github.com/redoubt/redoubt/internal/store/queue"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// ofRefs calls ask for each ref.
func (tx *Tx) ofRefs(
	ctx context.Context, refs []model.ProjectRef, ask func(ctx context.Context, i int, at model.ProjectRef) error,
) error {
	for i, at := range refs {
		if err := ask(ctx, i, at); err != nil {
			return err
		}
	}
	return nil
}

// RefSizes returns an upper bound of the rows that matching reads for each ref. It counts findings,
// at most some, and the dependencies in lockfiles.
func (tx *Tx) RefSizes(ctx context.Context, refs []model.ProjectRef, some int) ([]int, error) {
	sizes := make([]int, len(refs))
	return sizes, tx.ofRefs(ctx, refs, func(ctx context.Context, i int, at model.ProjectRef) error {
		return sqldb.Each(ctx, tx, func(r sqldb.Row) error { return r.Scan(&sizes[i]) }, `
			SELECT CAST((SELECT COUNT(*) FROM (SELECT 1 FROM finding WHERE deployment_id = $1 AND project_id = $2 AND ref = $3
			LIMIT $4) AS counted)
				+ COALESCE((SELECT SUM(c.last_id - c.first_id + 1) FROM inventory i
				JOIN inventory_content c ON c.deployment_id = i.deployment_id AND c.inventory_id = i.id
				WHERE i.deployment_id = $1 AND i.project_id = $2 AND i.ref = $3), 0) AS BIGINT)`, at.ProjectID, at.Ref, some)
	})
}

// Holdings returns the current lockfiles of each ref, by path. Their dependencies are sorted by id
// and limited to packages, unless packages is nil.
func (tx *Tx) Holdings(ctx context.Context, refs []model.ProjectRef, packages []int64) ([][]model.Holding, error) {
	type place struct{ ref, lockfile int }
	at := map[int64]place{}
	lists := make([][]model.Holding, len(refs))
	err := tx.ofRefs(ctx, refs, func(ctx context.Context, i int, of model.ProjectRef) error {
		lists[i] = []model.Holding{}
		return sqldb.Each(ctx, tx, func(r sqldb.Row) error {
			var id int64
			var h model.Holding
			err := r.Scan(&id, &h.Lockfile, &h.ScanID, &h.Commit)
			at[id] = place{i, len(lists[i])}
			lists[i] = append(lists[i], h)
			return err
		}, `SELECT id, lockfile, scan_id, commit_hash FROM inventory WHERE deployment_id = $1 AND project_id = $2 AND ref = $3
			ORDER BY lockfile`+tx.ByBytes(), of.ProjectID, of.Ref)
	})
	if err != nil || len(at) == 0 {
		return lists, err
	}
	rows, names, err := tx.inventoryRows(ctx, slices.Sorted(maps.Keys(at)), packages)
	if err != nil {
		return nil, err
	}
	counts := map[int64]int{}
	for _, r := range rows {
		counts[r.Inventory]++
	}
	for id, to := range at {
		lists[to.ref][to.lockfile].Dependencies = make([]model.MatchDependency, 0, counts[id])
	}
	for _, r := range rows {
		to, n := at[r.Inventory], names[r.Version]
		h := &lists[to.ref][to.lockfile]
		h.Dependencies = append(h.Dependencies, model.MatchDependency{
			Ecosystem: n.Ecosystem, Name: n.Name, Version: n.Version, Transitivity: r.Transitivity, Line: r.Line,
		})
	}
	return lists, nil
}

// inventoryRows returns the rows of inventories and the names of their versions. See Holdings for
// packages.
func (tx *Tx) inventoryRows(
	ctx context.Context, inventories, packages []int64,
) (rows []inventory.DependencyRow, names map[int64]inventory.PackageVersion, err error) {
	if packages != nil {
		if names, err = tx.VersionsOf(ctx, packages); err != nil {
			return nil, nil, err
		}
		rows, err = tx.rowsOfVersions(ctx, inventories, names)
		return rows, names, err
	}
	if rows, err = tx.rowsBy(ctx, "inventory_id", inventories); err != nil {
		return nil, nil, err
	}
	versions := model.Map(rows, func(r inventory.DependencyRow) int64 { return r.Version })
	slices.Sort(versions)
	names, err = tx.PackageVersions(ctx, slices.Compact(versions))
	return rows, names, err
}

// rowsOfVersions returns the rows of inventories that have one of the versions. It reads the lockfile
// contents to find them: few rows match, and an index would be queried per version and inventory.
func (tx *Tx) rowsOfVersions(
	ctx context.Context, inventories []int64, versions map[int64]inventory.PackageVersion,
) ([]inventory.DependencyRow, error) {
	var ids []int64
	in, arg := tx.In("inventory_id", 2, inventories)
	err := sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var content sql.RawBytes
		if err := r.Scan(&content); err != nil {
			return err
		}
		return inventory.EachContent(content, func([]byte) bool {
			return true
		}, func(id, version int64, _ model.Transitivity) bool {
			if _, wanted := versions[version]; wanted {
				ids = append(ids, id)
			}
			return true
		})
	}, `SELECT content FROM inventory_content WHERE deployment_id = $1 AND `+in, arg)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	return tx.rowsBy(ctx, "id", ids)
}

func (tx *Tx) rowsBy(ctx context.Context, column string, ids []int64) ([]inventory.DependencyRow, error) {
	in, arg := tx.In(column, 2, ids)
	return sqldb.Many(ctx, tx, func(r sqldb.Row) (d inventory.DependencyRow, err error) {
		return d, r.Scan(&d.Inventory, &d.Version, &d.Transitivity, &d.Line)
	}, `SELECT inventory_id, package_version_id, transitivity, line FROM dependency WHERE deployment_id = $1 AND `+in, arg)
}

// Subjects returns the vulnerabilities of the supply-chain findings of each ref, in any state,
// oldest first.
func (tx *Tx) Subjects(ctx context.Context, refs []model.ProjectRef) ([][]model.Subject, error) {
	// Two queries, because for a join either engine may read the subjects of all refs.
	type found struct {
		model.Subject
		ref int
	}
	of := map[int64]found{}
	lists := make([][]model.Subject, len(refs))
	err := tx.ofRefs(ctx, refs, func(ctx context.Context, i int, at model.ProjectRef) error {
		lists[i] = []model.Subject{}
		return sqldb.Each(ctx, tx, func(r sqldb.Row) error {
			s := found{ref: i}
			err := r.Scan(&s.FindingID, &s.LineageID, &s.Source, &s.Rule, &s.State, sqldb.Instant(&s.ChangedAt))
			of[s.FindingID] = s
			return err
		}, `SELECT id, lineage_id, source, rule_name, state, state_updated_at FROM finding WHERE deployment_id = $1 AND `+
			`project_id = $2 AND ref = $3`,
			at.ProjectID, at.Ref)
	})
	if err != nil || len(of) == 0 {
		return lists, err
	}
	in, arg := tx.In("finding_id", 2, slices.Sorted(maps.Keys(of)))
	err = sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var s model.Subject
		err := r.Scan(&s.FindingID, &s.Lockfile, &s.Ecosystem, &s.Package, &s.Version, &s.Vulnerability, &s.Group)
		f := of[s.FindingID]
		s.LineageID, s.Source, s.Rule, s.State, s.ChangedAt = f.LineageID, f.Source, f.Rule, f.State, f.ChangedAt
		lists[f.ref] = append(lists[f.ref], s)
		return err
	}, `SELECT finding_id, lockfile, ecosystem, package, version, vulnerability, group_id FROM finding_subject WHERE `+
		`deployment_id = $1 AND `+in, arg)
	for _, list := range lists {
		slices.SortFunc(list, func(a, b model.Subject) int { return cmp.Compare(a.FindingID, b.FindingID) })
	}
	return lists, err
}

// WriteSubjects stores the subjects of findings that have one.
func (tx *Tx) WriteSubjects(ctx context.Context, findings []model.FindingWrite) error {
	var rows [][]any
	for i := range findings {
		if s := findings[i].Subject; s != nil {
			rows = append(rows, []any{findings[i].ID, s.Lockfile, s.Ecosystem, s.Package, s.Version, s.Vulnerability, s.Group})
		}
	}
	const columns = `finding_id, lockfile, ecosystem, package, version, vulnerability, group_id`
	return tx.Insert(ctx, `finding_subject (deployment_id, `+columns+`)`, rows,
		`ON CONFLICT (deployment_id, finding_id) DO UPDATE SET `+sqldb.Excluded(columns, "finding_id"))
}

// EachPackage calls visit with each package of the deployment's dictionary.
func (tx *Tx) EachPackage(ctx context.Context, visit func(id int64, ecosystem, name string)) error {
	return sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var id int64
		var k inventory.PackageKey
		err := r.Scan(&id, &k.Ecosystem, &k.Name)
		visit(id, k.Ecosystem, k.Name)
		return err
	}, `SELECT id, ecosystem, name FROM package WHERE deployment_id = $1`)
}

// HoldingRefs returns the refs with current lockfiles by project and ref. Unless packages is nil,
// only refs that use one of them are returned.
func (tx *Tx) HoldingRefs(ctx context.Context, packages []int64) ([]model.ProjectRef, error) {
	query, args := `SELECT DISTINCT i.project_id, i.ref FROM inventory i WHERE i.deployment_id = $1`, []any{}
	if packages != nil {
		in, arg := tx.In("v.package_id", 2, packages)
		// The query starts at the few versions. CROSS JOIN forces this order in SQLite. The
		// condition on purl, which no index contains, prevents a scan of all dependencies with the
		// index of inventories.
		query = `SELECT DISTINCT i.project_id, i.ref FROM package_version v CROSS JOIN dependency d CROSS JOIN inventory i
			WHERE v.deployment_id = $1 AND d.deployment_id = v.deployment_id AND d.package_version_id = v.id AND d.purl >= ''
			AND i.deployment_id = d.deployment_id AND i.id = d.inventory_id AND ` + in
		args = append(args, arg)
	}
	list, err := sqldb.Many(ctx, tx, func(r sqldb.Row) (p model.ProjectRef, err error) {
		return p, r.Scan(&p.ProjectID, &p.Ref)
	}, query, args...)
	slices.SortFunc(list, model.ProjectRef.Compare)
	return list, err
}

// TouchedPackages returns the packages changed by advisory versions greater than after, up to
// through.
func (tx *Tx) TouchedPackages(ctx context.Context, after, through int64) ([]string, error) {
	return sqldb.Many(ctx, tx.Session, sqldb.Scalar[string],
		`SELECT DISTINCT package FROM advisory_change WHERE version > $1 AND version <= $2`, after, through)
}

const progressColumns = `version, target, after_project, after_ref, scores_version`

// ClaimAdvisoryMatch leases the matching of a deployment to one worker and returns its progress. ok
// is false while another worker has the lease.
func (s *DB) ClaimAdvisoryMatch(
	ctx context.Context, deploymentID int64, lease time.Duration,
) (p model.AdvisoryProgress, ok bool, err error) {
	err = s.UpdateShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		if _, err := sqldb.ReadTenant(ctx, q, deploymentID, q.ForUpdate()); err != nil {
			return err
		}
		err := q.Write(ctx,
			`INSERT INTO advisory_match (deployment_id, version, target, after_project, after_ref, scores_version)
			VALUES ($1, 0, 0, 0, '', 0) ON CONFLICT DO NOTHING`, deploymentID)
		if err != nil {
			return err
		}
		now := s.Now()
		n, err := q.Exec(ctx, `UPDATE advisory_match SET lease_until = $2 WHERE deployment_id = $1 AND (lease_until IS `+
			`NULL OR lease_until <= $3)`,
			deploymentID, now.Add(lease), now)
		if err != nil || n == 0 {
			return err
		}
		ok = true
		p, err = sqldb.One(ctx, q, func(r sqldb.Row) (p model.AdvisoryProgress, err error) {
			return p, r.Scan(&p.Version, &p.Target, &p.After.ProjectID, &p.After.Ref, &p.Scores)
		}, `SELECT `+progressColumns+` FROM advisory_match WHERE deployment_id = $1`, deploymentID)
		return err
	})
	return p, ok, err
}

// SaveAdvisoryMatch stores the progress of a deployment's matching and renews the lease. A zero
// lease releases it.
func (tx *Tx) SaveAdvisoryMatch(ctx context.Context, p model.AdvisoryProgress, lease time.Duration) error {
	var until time.Time
	if lease > 0 {
		until = tx.Now().Add(lease)
	}
	return tx.Write(ctx,
		`UPDATE advisory_match SET version = $2, target = $3, after_project = $4, after_ref = $5, scores_version = $6,
			lease_until = $7
		WHERE deployment_id = $1`, p.Version, p.Target, p.After.ProjectID, p.After.Ref, p.Scores, until)
}

// followedImage is the content of audit events about findings changed by advisories.
type followedImage struct {
	Ref      string `json:"ref"`
	Version  int64  `json:"advisories_version"`
	Findings int    `json:"findings"`
}

// AuditFollowed adds an audit event with the number of findings of a ref that an advisory version
// changed.
func (tx *Tx) AuditFollowed(at model.ProjectRef, version int64, findings int) {
	tx.Audit("advisories.follow", sqldb.Subject("project", at.ProjectID), nil, followedImage{at.Ref, version, findings})
}

// MatchJob is the kind of server job that matches all deployments with the current advisories and
// scores.
const MatchJob = "match"

// QueueMatching adds a MatchJob of the server unless there is one.
func (s *DB) QueueMatching(ctx context.Context) error {
	return s.UpdateShared(ctx, func(ctx context.Context, q *sqldb.Session) error { return QueueMatching(ctx, q, s.Now()) })
}

// QueueMatching adds a MatchJob of the server unless there is one.
func QueueMatching(ctx context.Context, q *sqldb.Session, now time.Time) error {
	if _, err := queue.LockAdvisories(ctx, q); err != nil {
		return err
	}
	_, err := queue.Enqueue(ctx, q, 0, now, []model.Job{{Kind: MatchJob, Subject: MatchJob}})
	return err
}

// AdvisoryMatches returns the matching progress by deployment; those without any are omitted.
func (s *DB) AdvisoryMatches(ctx context.Context) (map[int64]model.AdvisoryProgress, error) {
	out := map[int64]model.AdvisoryProgress{}
	return out, s.ViewShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		return sqldb.Each(ctx, q, func(r sqldb.Row) error {
			var id int64
			var p model.AdvisoryProgress
			err := r.Scan(&id, &p.Version, &p.Target, &p.After.ProjectID, &p.After.Ref, &p.Scores)
			out[id] = p
			return err
		}, `SELECT deployment_id, `+progressColumns+` FROM advisory_match`)
	})
}
