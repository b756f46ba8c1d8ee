package inventory

import (
	"context"
	"maps"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// maxSteps limits the length of paths; known paths are shorter.
const maxSteps = 100

// versionInLockfile is a package version in a lockfile.
type versionInLockfile struct{ inventory, version int64 }

// parentEdge is the part of a row that describes how it is required.
type parentEdge struct {
	via       int64 // package_version.id; 0 for none
	requirers int
	direct    bool
}

// DependencyPaths returns how dependencies are required in their lockfiles, by id; unknown ids are
// omitted.
func (tx *Tx) DependencyPaths(ctx context.Context, ids []int64) (map[int64]model.DependencyPath, error) {
	start := map[int64]versionInLockfile{}
	in, arg := tx.In("id", 2, ids)
	err := sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var id int64
		var at versionInLockfile
		err := r.Scan(&id, &at.inventory, &at.version)
		start[id] = at
		return err
	}, `SELECT id, inventory_id, package_version_id FROM dependency WHERE deployment_id = $1 AND `+in, arg)
	if err != nil {
		return nil, err
	}
	rows, err := tx.parentEdges(ctx, slices.Collect(maps.Values(start)))
	if err != nil {
		return nil, err
	}
	versions := map[int64]bool{}
	for at := range rows {
		versions[at.version] = true
	}
	names, err := tx.PackageVersions(ctx, slices.Sorted(maps.Keys(versions)))
	if err != nil {
		return nil, err
	}
	out := make(map[int64]model.DependencyPath, len(start))
	for id, at := range start {
		out[id] = pathOf(at, rows, names)
	}
	return out, nil
}

// parentEdges returns the rows and all their ancestors, with one query per level.
func (tx *Tx) parentEdges(ctx context.Context, next []versionInLockfile) (map[versionInLockfile]parentEdge, error) {
	rows := map[versionInLockfile]parentEdge{}
	for steps := 0; len(next) > 0 && steps < maxSteps; steps++ {
		wanted, inventories, versions := map[versionInLockfile]bool{}, map[int64]bool{}, map[int64]bool{}
		for _, at := range next {
			wanted[at], inventories[at.inventory], versions[at.version] = true, true, true
		}
		next = nil
		inInventory, inventoryArg := tx.In("inventory_id", 2, slices.Sorted(maps.Keys(inventories)))
		inVersion, versionArg := tx.In("package_version_id", 3, slices.Sorted(maps.Keys(versions)))
		err := sqldb.Each(ctx, tx, func(r sqldb.Row) error {
			var at versionInLockfile
			var h parentEdge
			var t model.Transitivity
			if err := r.Scan(&at.inventory, &at.version, &h.via, &h.requirers, &t); err != nil || !wanted[at] {
				return err
			}
			h.direct = t == model.Direct
			rows[at] = h
			above := versionInLockfile{at.inventory, h.via}
			if _, known := rows[above]; h.via != 0 && !known {
				next = append(next, above)
			}
			return nil
		}, `SELECT inventory_id, package_version_id, via_version_id, requirers, transitivity FROM dependency
			WHERE deployment_id = $1 AND `+inInventory+` AND `+inVersion, inventoryArg, versionArg)
		if err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// pathOf follows a row up to a direct dependency.
func pathOf(
	at versionInLockfile, rows map[versionInLockfile]parentEdge, names map[int64]PackageVersion,
) (p model.DependencyPath) {
	if p.Others = rows[at].requirers; rows[at].via != 0 {
		p.Others--
	}
	for range maxSteps {
		row, known := rows[at]
		if !known {
			break
		}
		n := names[at.version]
		p.Steps = append(p.Steps, model.LockedPackage{Ecosystem: n.Ecosystem, Name: n.Name, Version: n.Version})
		if p.Direct = row.direct; row.via == 0 {
			break
		}
		at.version = row.via
	}
	slices.Reverse(p.Steps)
	return p
}

// FindingDependency returns the dependency of a supply-chain finding in the current lockfile of its
// ref, or model.ErrNotFound.
func (tx *Tx) FindingDependency(ctx context.Context, findingID int64) (int64, error) {
	return sqldb.One(ctx, tx, sqldb.Scalar[int64], `SELECT d.id FROM finding f
		JOIN finding_subject s ON s.deployment_id = f.deployment_id AND s.finding_id = f.id
		JOIN inventory i ON i.deployment_id = f.deployment_id AND i.project_id = f.project_id AND i.ref = f.ref
		AND i.lockfile = s.lockfile
		JOIN package p ON p.deployment_id = f.deployment_id AND p.ecosystem = s.ecosystem AND p.name = s.package
		JOIN package_version v ON v.deployment_id = f.deployment_id AND v.package_id = p.id AND v.version = s.version
		JOIN dependency d ON d.deployment_id = f.deployment_id AND d.inventory_id = i.id AND d.package_version_id = v.id
		WHERE f.deployment_id = $1 AND f.id = $2`, findingID)
}
