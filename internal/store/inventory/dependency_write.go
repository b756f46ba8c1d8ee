package inventory

import (
	"cmp"
	"context"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// DependencyRow is a row of table dependency. It is comparable.
type DependencyRow struct {
	id           int64
	Inventory    int64
	Version      int64 // package_version.id
	Transitivity model.Transitivity
	Line         int
	purl         string
	licenses     string // JSON
	hashes       string // JSON
	via          int64  // package_version.id; 0 for none
	requirers    int
	supplier     string
}

const dependencyColumns = `id, inventory_id, package_version_id, transitivity, line, purl, licenses_json, ` +
	`hashes_json, via_version_id, requirers, supplier`

func scanDependencyRow(r sqldb.Row) (d DependencyRow, err error) {
	return d, r.Scan(&d.id, &d.Inventory, &d.Version, &d.Transitivity, &d.Line, &d.purl, &d.licenses, &d.hashes, &d.via,
		&d.requirers, &d.supplier)
}

func (r DependencyRow) values() []any {
	return []any{
		r.id, r.Inventory, r.Version, int64(r.Transitivity), r.Line,
		r.purl, r.licenses, r.hashes, r.via, r.requirers, r.supplier,
	}
}

// putDependencies replaces the dependencies of an inventory. Rows are identified by package and
// version, and existing ones keep their ids. Rows of packages that the source cannot report remain.
func (tx *Tx) putDependencies(
	ctx context.Context, inventoryID int64, reported model.Inventory,
) (added, removed int, err error) {
	wanted, versions, err := tx.dependencyRows(ctx, inventoryID, reported.Dependencies)
	if err != nil {
		return 0, 0, err
	}
	if err := tx.putInventoryGraph(ctx, inventoryID, reported.Edges, versions); err != nil {
		return 0, 0, err
	}
	untold, err := tx.unknownPackageRows(ctx, inventoryID, reported)
	if err != nil {
		return 0, 0, err
	}
	stored, err := sqldb.Many(ctx, tx, scanDependencyRow,
		`SELECT `+dependencyColumns+` FROM dependency WHERE deployment_id = $1 AND inventory_id = $2`, inventoryID)
	if err != nil {
		return 0, 0, err
	}
	var gone []int64
	var changed, fresh []DependencyRow
	for _, before := range stored {
		now, stays := wanted[before.Version]
		delete(wanted, before.Version)
		now.id = before.id
		switch {
		case !stays && slices.Contains(untold, before.id):
		case !stays:
			gone = append(gone, before.id)
		case now != before:
			changed = append(changed, now)
		}
	}
	for _, d := range wanted {
		fresh = append(fresh, d)
	}
	slices.SortFunc(fresh, func(a, b DependencyRow) int { return cmp.Compare(a.Version, b.Version) })
	if len(gone)+len(changed)+len(fresh) == 0 {
		return 0, 0, nil
	}
	if err := tx.writeDependencies(ctx, gone, changed, fresh); err != nil {
		return 0, 0, err
	}
	return len(fresh), len(gone), tx.putContent(ctx, inventoryID, contentAfter(stored, gone, changed, fresh))
}

// contentAfter returns the content of a lockfile after some rows are deleted, changed and added.
func contentAfter(stored []DependencyRow, gone []int64, changed, fresh []DependencyRow) []ContentRow {
	left := make(map[int64]bool, len(gone)+len(changed))
	for _, id := range gone {
		left[id] = true
	}
	for _, d := range changed {
		left[d.id] = true
	}
	content := make([]ContentRow, 0, len(stored)+len(fresh))
	for _, list := range [][]DependencyRow{changed, fresh} {
		for _, d := range list {
			content = append(content, ContentRow{d.id, d.Version, d.Transitivity, d.licenses})
		}
	}
	for _, d := range stored {
		if !left[d.id] {
			content = append(content, ContentRow{d.id, d.Version, d.Transitivity, d.licenses})
		}
	}
	return content
}

// unknownPackageRows returns the rows of an inventory whose packages are in reported.UnknownPackages
// and not in reported.Dependencies.
func (tx *Tx) unknownPackageRows(ctx context.Context, inventoryID int64, reported model.Inventory) ([]int64, error) {
	names := make([]string, 0, len(reported.UnknownPackages))
	for _, name := range reported.UnknownPackages {
		if !slices.ContainsFunc(reported.Dependencies, func(d model.Dependency) bool { return d.Name == name }) {
			names = append(names, sqldb.CleanText(name))
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	in, arg := tx.In("p.name", 3, names)
	return sqldb.Many(ctx, tx, func(r sqldb.Row) (id int64, err error) { return id, r.Scan(&id) }, `
		SELECT d.id FROM dependency d
		JOIN package_version v ON v.deployment_id = d.deployment_id AND v.id = d.package_version_id
		JOIN package p ON p.deployment_id = v.deployment_id AND p.id = v.package_id
		WHERE d.deployment_id = $1 AND d.inventory_id = $2 AND `+in, inventoryID, arg)
}

// updateDependency turns an insert with known ids into an update.
var updateDependency = `ON CONFLICT (deployment_id, id) DO UPDATE SET ` + sqldb.Excluded(dependencyColumns, "id")

func (tx *Tx) writeDependencies(ctx context.Context, gone []int64, changed, fresh []DependencyRow) error {
	if len(gone) > 0 {
		in, arg := tx.In("id", 2, gone)
		if err := tx.Write(ctx, `DELETE FROM dependency WHERE deployment_id = $1 AND `+in, arg); err != nil {
			return err
		}
	}
	ids, err := tx.NewIDs(ctx, seqDependency, len(fresh))
	if err != nil {
		return err
	}
	for i := range ids {
		fresh[i].id = ids[i]
	}
	if err := tx.insertDependencies(ctx, fresh, ""); err != nil {
		return err
	}
	return tx.insertDependencies(ctx, changed, updateDependency)
}

// dependenciesAtOnce limits the rows converted to SQL arguments at once, which need more memory
// than the rows.
const dependenciesAtOnce = 10_000

func (tx *Tx) insertDependencies(ctx context.Context, rows []DependencyRow, conflict string) error {
	for part := range slices.Chunk(rows, dependenciesAtOnce) {
		if err := tx.Insert(ctx, `dependency (deployment_id, `+dependencyColumns+`)`, rowValues(part), conflict); err != nil {
			return err
		}
	}
	return nil
}

func rowValues(list []DependencyRow) [][]any {
	return model.Map(list, func(d DependencyRow) []any { return d.values() })
}

// dependencyRows converts a lockfile's dependencies to rows without ids, by package version.
// Duplicates are merged into the first one. versions contains the package version of each element
// of reported.
func (tx *Tx) dependencyRows(
	ctx context.Context, inventoryID int64, reported []model.Dependency,
) (rows map[int64]DependencyRow, versions []int64, err error) {
	names := make([]PackageVersion, len(reported))
	for i, d := range reported {
		names[i] = PackageVersion{sqldb.CleanText(d.Ecosystem), sqldb.CleanText(d.Name), sqldb.CleanText(d.Version)}
	}
	ids, err := tx.putPackageVersions(ctx, names)
	if err != nil {
		return nil, nil, err
	}
	first := make(map[int64]int, len(reported))
	merged := map[int64]model.Dependency{} // only those that occur several times
	versions = make([]int64, len(reported))
	for i, d := range reported {
		version := ids[names[i]]
		versions[i] = version
		if at, seen := first[version]; !seen {
			first[version] = i
		} else if before, several := merged[version]; several {
			merged[version] = mergeDependencies(before, d)
		} else {
			merged[version] = mergeDependencies(reported[at], d)
		}
	}
	rows = make(map[int64]DependencyRow, len(first))
	for version, at := range first {
		d, several := merged[version]
		if !several {
			d = reported[at]
		}
		rows[version] = DependencyRow{
			Inventory: inventoryID, Version: version, Transitivity: d.Transitivity, Line: d.Line, purl: sqldb.CleanText(d.PURL),
			licenses: encodedList(d.Licenses), hashes: encodedList(d.Hashes),
			requirers: d.Requirers, supplier: sqldb.CleanText(d.Supplier),
			via: ids[PackageVersion{
				sqldb.CleanText(d.Via.Ecosystem), sqldb.CleanText(d.Via.Name), sqldb.CleanText(d.Via.Version),
			}],
		}
	}
	return rows, versions, nil
}

// mergeDependencies fills empty fields of a from b. Direct overrides transitive.
func mergeDependencies(a, b model.Dependency) model.Dependency {
	if b.Transitivity != 0 && (a.Transitivity == 0 || b.Transitivity < a.Transitivity) {
		a.Transitivity = b.Transitivity
	}
	if a.Line == 0 {
		a.Line = b.Line
	}
	if a.PURL == "" {
		a.PURL = b.PURL
	}
	if len(a.Licenses) == 0 {
		a.Licenses = b.Licenses
	}
	if len(a.Hashes) == 0 {
		a.Hashes = b.Hashes
	}
	a.Supplier = cmp.Or(a.Supplier, b.Supplier)
	if a.Requirers = max(a.Requirers, b.Requirers); a.Via.Name == "" {
		a.Via = b.Via
	}
	if a.Transitivity == model.Direct {
		a.Via = model.LockedPackage{}
	}
	return a
}

// encodedList returns a list as JSON; nil is [].
func encodedList[T any](list []T) string {
	if len(list) == 0 {
		return "[]"
	}
	return sqldb.Encoded(list)
}

const seqDependency sqldb.Sequence = "dependency"
