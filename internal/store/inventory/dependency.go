package inventory

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// Dependencies returns at most limit dependencies on the primary branches after the given id, by id
// (docs/reference/dependencies.md). It reports whether there are more. Ids only grow, so paging
// neither repeats nor skips rows that stay. Invalid version bounds are a *model.InvalidError.
func (tx *Tx) Dependencies(
	ctx context.Context, f model.DependencyFilter, afterID int64, limit int,
) ([]model.Dependency, bool, error) {
	q, err := tx.newDependencyQuery(ctx, f)
	if err != nil || q.nothing {
		return []model.Dependency{}, false, err
	}
	ids, err := q.find(ctx, afterID, limit+1)
	if err != nil {
		return nil, false, err
	}
	ids, more := sqldb.Page(ids, limit)
	rows, err := tx.dependencyRowsOf(ctx, ids)
	if err != nil {
		return nil, false, err
	}
	inventories := model.Map(rows, func(r DependencyRow) int64 { return r.Inventory })
	slices.Sort(inventories)
	in, arg := tx.In("i.id", 2, slices.Compact(inventories))
	locations, err := tx.lockfileLocations(ctx, "AND "+in, arg)
	if err != nil {
		return nil, false, err
	}
	list, err := tx.dependencies(ctx, rows, locations)
	return list, more, err
}

// dependencyRowsOf returns rows by id in ascending order.
func (tx *Tx) dependencyRowsOf(ctx context.Context, ids []int64) ([]DependencyRow, error) {
	in, arg := tx.In("id", 2, ids)
	return sqldb.Many(ctx, tx, scanDependencyRow,
		`SELECT `+dependencyColumns+` FROM dependency WHERE deployment_id = $1 AND `+in+` ORDER BY id`, arg)
}

// AllDependencies returns the dependencies on a ref of a project, by id. An empty ref is the
// primary branch. An unknown project is model.ErrNotFound.
func (tx *Tx) AllDependencies(ctx context.Context, projectID int64, ref string) ([]model.Dependency, error) {
	rows, locations, err := tx.dependenciesOn(ctx, projectID, ref)
	if err != nil {
		return nil, err
	}
	return tx.dependencies(ctx, rows, locations)
}

// dependenciesOn returns the rows on a ref, by id, and their locations by inventory.
func (tx *Tx) dependenciesOn(
	ctx context.Context, projectID int64, ref string,
) ([]DependencyRow, map[int64]lockfileLocation, error) {
	p, err := tx.Project(ctx, projectID)
	if err != nil {
		return nil, nil, err
	}
	if ref == "" {
		ref = p.Primary()
	}
	locations, err := tx.lockfileLocations(ctx, `AND i.project_id = $2 AND i.ref = $3`, projectID, ref)
	if err != nil {
		return nil, nil, err
	}
	in, arg := tx.In("inventory_id", 2, slices.Sorted(maps.Keys(locations)))
	rows, err := sqldb.Many(ctx, tx, scanDependencyRow,
		`SELECT `+dependencyColumns+` FROM dependency WHERE deployment_id = $1 AND `+in+` ORDER BY id`, arg)
	return rows, locations, err
}

// dependencies adds the names of the dictionary to rows.
func (tx *Tx) dependencies(
	ctx context.Context, rows []DependencyRow, locations map[int64]lockfileLocation,
) ([]model.Dependency, error) {
	ids := model.Map(rows, func(r DependencyRow) int64 { return r.Version })
	slices.Sort(ids)
	names, err := tx.PackageVersions(ctx, slices.Compact(ids))
	if err != nil {
		return nil, err
	}
	lists := map[string][]string{"[]": {}}
	list := make([]model.Dependency, len(rows))
	for i, r := range rows {
		at, name := locations[r.Inventory], names[r.Version]
		list[i] = model.Dependency{
			ID: r.id, ProjectID: at.project.ID, Lockfile: at.lockfile,
			Ecosystem: name.Ecosystem, Name: name.Name, Version: name.Version,
			Transitivity: r.Transitivity, Line: r.Line, PURL: r.purl, Supplier: r.supplier,
			RepositoryURL: at.project.URL, Ref: at.ref, Commit: at.commit,
		}
		if err := r.decodeLists(&list[i], lists); err != nil {
			return nil, fmt.Errorf("dependency %d: %w", r.id, err)
		}
	}
	return list, nil
}

// decodeLists decodes the lists of a row. Decoded licenses are cached, because most rows share a
// few values.
func (r DependencyRow) decodeLists(d *model.Dependency, licenses map[string][]string) error {
	decoded, known := licenses[r.licenses]
	if !known {
		if err := sqldb.DecodeStored([]byte(r.licenses), &decoded); err != nil {
			return err
		}
		licenses[r.licenses] = decoded
	}
	d.Licenses = slices.Clip(decoded) // shared, so appending must copy
	if r.hashes == "[]" {
		return nil
	}
	return sqldb.DecodeStored([]byte(r.hashes), &d.Hashes)
}

// lockfileLocation is a lockfile on a ref of a project.
type lockfileLocation struct {
	project  model.Project // only id, name, URL and branches
	ref      string
	commit   string
	lockfile string
}

// lockfileLocations returns the inventories that meet a condition, by id.
func (tx *Tx) lockfileLocations(
	ctx context.Context, condition string, args ...any,
) (map[int64]lockfileLocation, error) {
	found := map[int64]lockfileLocation{}
	return found, sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var id int64
		var p lockfileLocation
		err := r.Scan(&id, &p.ref, &p.commit, &p.lockfile, &p.project.ID, &p.project.Name, &p.project.URL,
			&p.project.DefaultBranch, &p.project.PrimaryBranch)
		found[id] = p
		return err
	}, `SELECT i.id, i.ref, i.commit_hash, i.lockfile, p.id, p.name, p.url, p.default_branch, p.primary_branch
		FROM inventory i JOIN project p ON p.deployment_id = i.deployment_id AND p.id = i.project_id
		WHERE i.deployment_id = $1 `+condition, args...)
}
