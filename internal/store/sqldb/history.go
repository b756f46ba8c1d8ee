package sqldb

import (
	"context"
	"slices"
	"sync"

	"github.com/redoubt/redoubt/internal/model"
)

// history is a sequence of versions of a deployment, each of which includes the commits of the
// earlier ones. An id refers to the same row in all of them unless a change is recorded. A restored
// backup, or a promoted standby without the last commits, starts another history that reuses ids.
type history struct {
	id       int64   // increasing and unique
	versions []int64 // ascending; only the last MaxKnownVersions that were read
	strays   int     // consecutive transactions with an unknown version
}

const (
	// MaxKnownVersions limits the remembered versions of a history. Transactions on a remembered
	// older version need no query.
	MaxKnownVersions = 64
	// MaxStrays is the number of consecutive transactions with older unknown versions after which a
	// history is assumed to be lost.
	MaxStrays = 16
)

// Histories stores the current history of each deployment. It is safe for concurrent use.
type Histories struct {
	mu   sync.Mutex
	last int64
	of   map[int64]*history // by deployment
}

// At returns the history of a deployment and reports whether the version is known to belong to it.
// If not, the caller checks whether it follows newest, the newest known version.
func (h *Histories) At(deployment, version int64) (id, newest int64, known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	past := h.of[deployment]
	if past == nil {
		return 0, 0, false
	}
	if known = slices.Contains(past.versions, version); known {
		past.strays = 0
	}
	return past.id, past.versions[len(past.versions)-1], known
}

// Add records that a version follows newest in a history and returns the history's id. It returns 0
// if the history was replaced meanwhile, or if another version was added to it.
func (h *Histories) Add(deployment, id, newest, version int64) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	past := h.of[deployment]
	if past == nil || past.id != id {
		return 0
	}
	past.strays = 0
	// A later version recorded meanwhile may belong to a restored database.
	if past.versions[len(past.versions)-1] != newest {
		if slices.Contains(past.versions, version) {
			return id
		}
		return 0
	}
	if len(past.versions) == MaxKnownVersions {
		past.versions = slices.Delete(past.versions, 0, 1)
	}
	past.versions = append(past.versions, version)
	return id
}

// Begin starts a history in place of another and returns its id. It returns 0 without a change if
// the history was already replaced. It also does so if the version may belong to a transaction that
// began before the newest commits.
func (h *Histories) Begin(deployment, instead, version int64) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch past := h.of[deployment]; {
	case past == nil && instead != 0, past != nil && past.id != instead:
		return 0
	case past != nil && model.Commits(version) < model.Commits(past.versions[len(past.versions)-1]):
		if past.strays++; past.strays < MaxStrays {
			return 0
		}
	}
	if h.of == nil {
		h.of = map[int64]*history{}
	}
	h.last++
	h.of[deployment] = &history{id: h.last, versions: []int64{version}}
	return h.last
}

// HistoryID returns the id of the history that the transaction reads. Cached data keyed by id is
// valid only within its history. It returns 0 if the history is unknown, and then no cached data is
// valid. A changed version needs a query.
func (tx *Tx) HistoryID(ctx context.Context) (int64, error) {
	if tx.past != nil {
		return *tx.past, nil
	}
	all, deployment, version := &tx.Session.engine.histories, tx.deployment.ID, tx.Version()
	id, newest, known := all.At(deployment, version)
	if !known && id != 0 {
		follows, err := tx.Knows(ctx, newest)
		if err != nil {
			return 0, err
		}
		if known = follows; follows {
			id = all.Add(deployment, id, newest, version)
		}
	}
	if !known {
		id = all.Begin(deployment, id, version)
	}
	tx.past = &id
	return id, nil
}
