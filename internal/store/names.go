package store

import (
	"maps"
	"sync"
)

// maxNames bounds how many package versions are remembered: some 100 MB.
const maxNames = 500_000

// names remembers what package versions are called, so that a page of
// dependencies reads narrow rows alone. A package version never changes and is
// never deleted, so what was committed once holds; what is not committed must
// stay out, since its id may come to be another's.
type names struct {
	mu    sync.RWMutex
	known map[int64]packageVersion // by id, which no two tenants share
}

// of returns the names of the ids that are remembered, and the other ids.
func (n *names) of(ids []int64) (found map[int64]packageVersion, others []int64) {
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

// keep remembers names, instead of all others where they are too many together.
func (n *names) keep(names map[int64]packageVersion) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known == nil || len(n.known)+len(names) > maxNames {
		n.known = make(map[int64]packageVersion, len(names))
	}
	maps.Copy(n.known, names)
}
