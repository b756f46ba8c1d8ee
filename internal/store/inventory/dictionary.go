package inventory

import (
	"context"
	"maps"
	"slices"

	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// PackageVersion is the name of a version of a package.
type PackageVersion struct {
	Ecosystem, Name, Version string
}

// PackageKey is the name of a package.
type PackageKey struct {
	Ecosystem, Name string
}

// versionKey is a version of the package with an id.
type versionKey struct {
	packageID int64
	version   string
}

// putPackageVersions returns the ids of package versions and adds new ones to the dictionary.
func (tx *Tx) putPackageVersions(ctx context.Context, names []PackageVersion) (map[PackageVersion]int64, error) {
	keys := make([]PackageKey, len(names))
	for i, n := range names {
		keys[i] = PackageKey{n.Ecosystem, n.Name}
	}
	packages, err := tx.putPackages(ctx, keys)
	if err != nil {
		return nil, err
	}
	versions := make([]versionKey, len(names))
	for i, n := range names {
		versions[i] = versionKey{packages[keys[i]], n.Version}
	}
	ids, err := tx.putVersions(ctx, versions)
	if err != nil {
		return nil, err
	}
	found := make(map[PackageVersion]int64, len(names))
	for i, n := range names {
		found[n] = ids[versions[i]]
	}
	return found, nil
}

func (tx *Tx) putPackages(ctx context.Context, keys []PackageKey) (map[PackageKey]int64, error) {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.Name
	}
	ids := map[PackageKey]int64{}
	in, arg := tx.In("name", 2, names)
	err := sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var id int64
		var k PackageKey
		err := r.Scan(&id, &k.Ecosystem, &k.Name)
		ids[k] = id
		return err
	}, `SELECT id, ecosystem, name FROM package WHERE deployment_id = $1 AND `+in, arg)
	if err != nil {
		return nil, err
	}
	return ids, putMissing(ctx, tx, seqPackage, `package (deployment_id, id, ecosystem, name)`, ids, keys,
		func(k PackageKey, id int64) []any { return []any{id, k.Ecosystem, k.Name} })
}

func (tx *Tx) putVersions(ctx context.Context, keys []versionKey) (map[versionKey]int64, error) {
	packages := make([]int64, len(keys))
	for i, k := range keys {
		packages[i] = k.packageID
	}
	ids := map[versionKey]int64{}
	in, arg := tx.In("package_id", 2, packages)
	err := sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var id int64
		var k versionKey
		err := r.Scan(&id, &k.packageID, &k.version)
		ids[k] = id
		return err
	}, `SELECT id, package_id, version FROM package_version WHERE deployment_id = $1 AND `+in, arg)
	if err != nil {
		return nil, err
	}
	err = putMissing(ctx, tx, seqPackageVersion, `package_version (deployment_id, id, package_id, version)`, ids, keys,
		func(k versionKey, id int64) []any {
			named := sqldb.Local[newNames](tx.Tx)
			if named.from == 0 {
				named.from = id
			}
			*sqldb.Local[packageVersions](tx.Tx) = packageVersions{}
			return []any{id, k.packageID, k.version}
		})
	return ids, err
}

// newNames records additions of a transaction to the dictionary.
type newNames struct {
	any  bool
	from int64 // first new id of a package version; 0 for none
}

// putMissing stores the keys without an id and adds their ids to the map.
func putMissing[K comparable](
	ctx context.Context, tx *Tx, s sqldb.Sequence, into string, ids map[K]int64, keys []K, values func(K, int64) []any,
) error {
	var missing []K
	for _, k := range keys {
		if _, known := ids[k]; !known {
			ids[k] = 0
			missing = append(missing, k)
		}
	}
	fresh, err := tx.NewIDs(ctx, s, len(missing))
	if err != nil {
		return err
	}
	if named := sqldb.Local[newNames](tx.Tx); len(missing) > 0 && !named.any {
		named.any = true
		tx.Change(sqldb.ChangeDictionary, 0) // so that the version determines the names of ids
	}
	rows := make([][]any, len(missing))
	for i, k := range missing {
		ids[k] = fresh[i]
		rows[i] = values(k, fresh[i])
	}
	return tx.Insert(ctx, into, rows, "")
}

// PackageVersions returns the names of package versions by id.
func (tx *Tx) PackageVersions(ctx context.Context, ids []int64) (map[int64]PackageVersion, error) {
	remembered := sqldb.Shared[packageVersionCache](tx.Tx)
	history, err := tx.HistoryID(ctx)
	if err != nil {
		return nil, err
	}
	found, others := remembered.get(tx.Deployment().ID, history, ids)
	for id := range found {
		// Uncommitted ids must not be read from the cache. After a restore, another history may
		// have assigned them to other names.
		if first := sqldb.Local[newNames](tx.Tx).from; first != 0 && id >= first {
			delete(found, id)
			others = append(others, id)
		}
	}
	if len(others) == 0 {
		return found, nil
	}
	read, err := tx.readVersions(ctx, "v.id", others)
	if err != nil {
		return nil, err
	}
	if !tx.Wrote() {
		remembered.put(tx.Deployment().ID, history, read)
	}
	maps.Copy(found, read)
	return found, nil
}

// readVersions returns the versions whose column v.id or v.package_id is one of the ids.
func (tx *Tx) readVersions(ctx context.Context, column string, ids []int64) (map[int64]PackageVersion, error) {
	read := make(map[int64]PackageVersion, len(ids))
	in, arg := tx.In(column, 2, ids)
	return read, sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var id int64
		var n PackageVersion
		err := r.Scan(&id, &n.Ecosystem, &n.Name, &n.Version)
		read[id] = n
		return err
	}, `SELECT v.id, p.ecosystem, p.name, v.version
		FROM package_version v JOIN package p ON p.deployment_id = v.deployment_id AND p.id = v.package_id
		WHERE v.deployment_id = $1 AND `+in, arg)
}

// packageVersions contains all versions of some packages, by id.
type packageVersions struct {
	packages []int64
	names    map[int64]PackageVersion
}

// VersionsOf returns the versions of packages, by id. It caches the last result, because the refs
// that follow a change of advisories query the same packages.
func (tx *Tx) VersionsOf(ctx context.Context, packages []int64) (map[int64]PackageVersion, error) {
	if last := sqldb.Local[packageVersions](tx.Tx); last.names != nil && slices.Equal(last.packages, packages) {
		return last.names, nil
	}
	names, err := tx.readVersions(ctx, "v.package_id", packages)
	if err != nil {
		return nil, err
	}
	*sqldb.Local[packageVersions](tx.Tx) = packageVersions{slices.Clone(packages), names}
	return names, nil
}

// Ecosystems returns the ecosystems of the deployment's packages, by name.
func (tx *Tx) Ecosystems(ctx context.Context) ([]string, error) {
	return sqldb.Many(
		ctx, tx, sqldb.Scalar[string], `SELECT DISTINCT ecosystem FROM package WHERE deployment_id = $1 ORDER BY ecosystem`,
	)
}

const seqPackage sqldb.Sequence = "package"

const seqPackageVersion sqldb.Sequence = "package_version"
