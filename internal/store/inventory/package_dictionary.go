package inventory

import (
	"context"
	"slices"
	"sync"

	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// packageDictionary contains all packages and package versions of a deployment, by id.
type packageDictionary struct {
	history  int64
	packages []knownPackage
	versions []knownVersion
}

type knownPackage struct {
	id int64
	PackageKey
}

type knownVersion struct {
	id      int64
	at      int // index of its package
	version string
}

// maxDictionaries limits the cached packages and package versions of all deployments, about 100 MB.
const maxDictionaries = 1_000_000

// dictionaryCache caches the dictionaries of deployments, because filters scan all names. Writers
// of a deployment are serialized, so ids increase from commit to commit and new entries follow the
// last cached one. Uncommitted entries must not be cached.
type dictionaryCache struct {
	mu     sync.Mutex
	known  map[int64]packageDictionary // by deployment
	recent []int64                     // deployments, the last used one at the end
}

func (d packageDictionary) size() int { return len(d.packages) + len(d.versions) }

// get returns the cached dictionary of a history of a deployment.
func (c *dictionaryCache) get(deployment, history int64) packageDictionary {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d := c.known[deployment]; d.history == history {
		return d
	}
	return packageDictionary{}
}

// put caches the dictionary of a deployment and evicts the least recently used ones above the
// limit. A dictionary larger than the limit is not cached.
func (c *dictionaryCache) put(deployment int64, d packageDictionary, most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = map[int64]packageDictionary{}
	}
	if d.history == 0 || d.history < c.known[deployment].history {
		return
	}
	c.forget(deployment)
	if d.size() > most {
		return
	}
	total := d.size()
	for _, other := range c.known {
		total += other.size()
	}
	for total > most {
		total -= c.known[c.recent[0]].size()
		c.forget(c.recent[0])
	}
	c.known[deployment] = d
	c.recent = append(c.recent, deployment)
}

func (c *dictionaryCache) forget(deployment int64) {
	delete(c.known, deployment)
	c.recent = slices.DeleteFunc(c.recent, func(d int64) bool { return d == deployment })
}

// dictionary returns the packages of the deployment and their versions. The caller must not modify
// it.
func (tx *Tx) dictionary(ctx context.Context) (packageDictionary, error) {
	remembered := sqldb.Shared[dictionaryCache](tx.Tx)
	history, err := tx.HistoryID(ctx)
	if err != nil {
		return packageDictionary{}, err
	}
	known := remembered.get(tx.Deployment().ID, history)
	if tx.Wrote() {
		known = packageDictionary{}
	}
	d, ok, err := tx.dictionaryAfter(ctx, known)
	if err == nil && !ok {
		d, _, err = tx.dictionaryAfter(ctx, packageDictionary{})
	}
	if d.history = history; err == nil && !tx.Wrote() {
		remembered.put(tx.Deployment().ID, d, maxDictionaries)
	}
	return d, err
}

// dictionaryAfter appends missing entries to a dictionary. ok is false if the last known entries
// are missing in the database, because the transaction's snapshot is older than their commit.
func (tx *Tx) dictionaryAfter(ctx context.Context, known packageDictionary) (d packageDictionary, ok bool, err error) {
	var lastPackage knownPackage
	var lastVersion knownVersion
	if n := len(known.packages); n > 0 {
		lastPackage = known.packages[n-1]
	}
	if n := len(known.versions); n > 0 {
		lastVersion = known.versions[n-1]
	}
	packages, err := sqldb.Many(ctx, tx, func(r sqldb.Row) (p knownPackage, err error) {
		return p, r.Scan(&p.id, &p.Ecosystem, &p.Name)
	}, `SELECT id, ecosystem, name FROM package WHERE deployment_id = $1 AND id >= $2 ORDER BY id`, lastPackage.id)
	if err != nil {
		return d, false, err
	}
	if len(known.packages) > 0 {
		if len(packages) == 0 || packages[0] != lastPackage {
			return d, false, nil
		}
		packages = packages[1:]
	}
	d.packages = joined(known.packages, packages)
	versions, err := sqldb.Many(ctx, tx, func(r sqldb.Row) (v knownVersion, err error) {
		var packageID int64
		err = r.Scan(&v.id, &packageID, &v.version)
		v.at, _ = slices.BinarySearchFunc(d.packages, packageID, func(p knownPackage, id int64) int { return int(p.id - id) })
		return v, err
	}, `SELECT id, package_id, version FROM package_version WHERE deployment_id = $1 AND id >= $2 ORDER BY id`,
		lastVersion.id)
	if err != nil {
		return d, false, err
	}
	if len(known.versions) > 0 {
		if len(versions) == 0 || versions[0] != lastVersion {
			return d, false, nil
		}
		versions = versions[1:]
	}
	d.versions = joined(known.versions, versions)
	return d, true, nil
}

// joined returns a followed by b without modifying a, which others may read.
func joined[T any](a, b []T) []T {
	if len(b) == 0 {
		return a
	}
	return append(slices.Clip(a), b...)
}

// matchVersions returns the package versions that match. Names are matched first, on the smaller
// list.
func (tx *Tx) matchVersions(ctx context.Context, m *versionMatcher) (*idSet, error) {
	d, err := tx.dictionary(ctx)
	if err != nil {
		return nil, err
	}
	passes := make([]bool, len(d.packages))
	for i, p := range d.packages {
		passes[i] = m.name(p.Ecosystem, p.Name)
	}
	matches := &idSet{}
	for _, v := range d.versions {
		if v.at < len(passes) && passes[v.at] && m.version(d.packages[v.at].Ecosystem, d.packages[v.at].Name, v.version) {
			matches.Add(v.id)
		}
	}
	return matches, nil
}
