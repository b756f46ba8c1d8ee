package inventory

import (
	"maps"
	"sync"
)

// maxCachedVersions limits the cached package versions, about 100 MB.
const maxCachedVersions = 500_000

// packageVersionCache caches names of package versions, so that pages of dependencies read only
// narrow rows. Package versions never change and are never deleted, so committed ones stay valid
// within their history. Uncommitted ones must not be cached, because their ids may be reassigned.
type packageVersionCache struct {
	mu    sync.RWMutex
	known map[int64]*historyNames // by deployment
	size  int                     // number of names
}

// historyNames contains the names of package versions of a history, by id.
type historyNames struct {
	history int64
	names   map[int64]PackageVersion
}

// get returns the cached names of a history, and the ids that are not cached.
func (c *packageVersionCache) get(
	deployment, history int64, ids []int64,
) (found map[int64]PackageVersion, others []int64) {
	found = make(map[int64]PackageVersion, len(ids))
	c.mu.RLock()
	defer c.mu.RUnlock()
	known := c.known[deployment]
	if known == nil || known.history != history {
		return found, ids
	}
	for _, id := range ids {
		if name, is := known.names[id]; is {
			found[id] = name
		} else {
			others = append(others, id)
		}
	}
	return found, others
}

// put caches names of a history and discards those of earlier histories. If the limit is exceeded,
// it discards everything else.
func (c *packageVersionCache) put(deployment, history int64, names map[int64]PackageVersion) {
	if history == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || c.size+len(names) > maxCachedVersions {
		c.known, c.size = map[int64]*historyNames{}, 0
	}
	known := c.known[deployment]
	if known != nil && known.history > history {
		return
	}
	if known == nil || known.history < history {
		if known != nil {
			c.size -= len(known.names)
		}
		known = &historyNames{history, make(map[int64]PackageVersion, len(names))}
		c.known[deployment] = known
	}
	c.size -= len(known.names)
	maps.Copy(known.names, names)
	c.size += len(known.names)
}
