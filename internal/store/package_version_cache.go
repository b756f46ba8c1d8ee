package store

import (
	"maps"
	"sync"
)

// maxCachedVersions bounds how many package versions are remembered: some 100 MB.
const maxCachedVersions = 500_000

// packageVersionCache remembers what package versions are called, so that a page of
// dependencies reads narrow rows alone. A package version never changes and is
// never deleted, so what was committed once holds; what is not committed must
// stay out, since its id may come to be another's.
type packageVersionCache struct {
	mu    sync.RWMutex
	known map[int64]packageVersion // by id, which no two tenants share
}

// get returns the names of the ids that are remembered, and the other ids.
func (n *packageVersionCache) get(ids []int64) (found map[int64]packageVersion, others []int64) {
	found = make(map[int64]packageVersion, len(ids))
	n.mu.RLock()
	defer n.mu.RUnlock()
	for _, id := range ids {
		if name, known := n.known[id]; known {
			found[id] = name
		} else {
			others = append(others, id)
		}
	}
	return found, others
}

// put remembers names, instead of all others where they are too many together.
func (n *packageVersionCache) put(names map[int64]packageVersion) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known == nil || len(n.known)+len(names) > maxCachedVersions {
		n.known = make(map[int64]packageVersion, len(names))
	}
	maps.Copy(n.known, names)
}
