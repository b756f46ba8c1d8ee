package sqldb

import (
	"context"
	"slices"
	"sync"

	"github.com/redoubt/redoubt/internal/model"
)

// history is a run of a deployment's versions, each of which has the commits of those
// before. What one of them has under an id the later ones have too, where nothing
// changes it. A restored backup, or a standby that was promoted without the last
// commits, begins another history, which gives the same ids to others.
type history struct {
	id       int64   // rises, and no two histories have the same
	versions []int64 // of it, the newest last; only the last that were asked for
	strays   int     // transactions, one after the other, that were of none of them
}

const (
	// MaxKnownVersions bounds the versions that are remembered of a history: a
	// transaction that reads on in an older state is of it without another question.
	MaxKnownVersions = 64
	// MaxStrays is how many transactions in a row may be older than a history and not
	// known to be of it, before it is taken for lost.
	MaxStrays = 16
)

// Histories remembers of each deployment the history that was seen last.
type Histories struct {
	mu   sync.Mutex
	last int64
	of   map[int64]*history // by deployment
}

// At finds the history of a deployment, and tells whether the version is known to be of
// it. Where it is not, that is for newest to show: it is the newest version known.
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

// Add notes that a version follows newest in a history, and returns its id; 0 where
// somebody noted another history meanwhile.
func (h *Histories) Add(deployment, id, newest, version int64) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	past := h.of[deployment]
	if past == nil || past.id != id {
		return 0
	}
	past.strays = 0
	// A later version that another has noted meanwhile may be of a restored database.
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

// Begin starts a history in the place of the one with the id, and returns its id. It
// returns 0, and nothing begins, where somebody else did so, or where the version may
// be that of a transaction that only began before the newest commits.
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

// HistoryID returns which history the transaction reads, for what is remembered by id:
// that holds in its own history alone. It is 0 where nobody can tell, and then nothing
// that is remembered holds. The database is asked where the version moved.
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
