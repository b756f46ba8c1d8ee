package inventory

import (
	"maps"
	"sync"
)

// maxCachedVersions bounds how many package versions are remembered: some 100 MB.
const maxCachedVersions = 500_000

// packageVersionCache remembers what package versions are called, so that a page of
// dependencies reads narrow rows alone. A package version never changes and is
// never deleted, so what was committed once holds in its history; what is not
// committed must stay out, since its id may come to be another's.
type packageVersionCache struct {
	mu    sync.RWMutex
	known map[int64]*historyNames // by deployment
	size  int                     // of all
}

// historyNames are the names of package versions of a history, by id.
type historyNames struct {
	history int64
	names   map[int64]PackageVersion
}

// get returns the names of the ids that are remembered of a history, and the other ids.
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

// put remembers names of a history, instead of those of the ones before, and instead of
// all others where they are too many together.
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
