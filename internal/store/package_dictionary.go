package store

import "context"

// knownPackage is a package with its id.
type knownPackage struct {
	id int64
	packageKey
}

// matchVersions returns the package versions that a filter selects. It matches names first,
// on the smaller table.
func (tx *Tx) matchVersions(ctx context.Context, m *versionMatcher) (*idSet, error) {
	packages, err := many(ctx, tx, func(r row) (p knownPackage, err error) {
		return p, r.Scan(&p.id, &p.ecosystem, &p.name)
	}, `SELECT id, ecosystem, name FROM package WHERE deployment_id = $1`)
	if err != nil {
		return nil, err
	}
	passes, ids := map[int64]packageKey{}, []int64{}
	for _, p := range packages {
		if m.name(p.ecosystem, p.name) {
			passes[p.id], ids = p.packageKey, append(ids, p.id)
		}
	}
	w := where{tx: tx}
	if len(ids) < len(packages) {
		w.in("package_id", ids)
	}
	if m.exact != "" {
		w.and(`version = ?`, m.exact)
	}
	matches := &idSet{}
	return matches, each(ctx, tx, func(r row) error {
		var id, packageID int64
		var version string
		err := r.Scan(&id, &packageID, &version)
		if of, is := passes[packageID]; is && m.version(of.ecosystem, of.name, version) {
			matches.add(id)
		}
		return err
	}, `SELECT id, package_id, version FROM package_version WHERE deployment_id = $1`+w.text.String()+` ORDER BY id`, w.args...)
}
