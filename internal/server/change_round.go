package server

import (
	"slices"
	"sync"

	"github.com/redoubt/redoubt/internal/index"
)

// roundsKept is how many rounds of changes are remembered: one bit or so for each finding
// of a round.
const roundsKept = 16

// roundKey names a round of changes: versions name commits, so it means the same for ever.
type roundKey struct{ deployment, since, until int64 }

// rounds are those that somebody is in the middle of, by which findings are told in them. A
// later answer of one would otherwise read all that changed again. What is not remembered,
// as after a start or from another server, is read.
type rounds struct {
	mu  sync.Mutex
	all []round // used last comes last
}

type round struct {
	roundKey
	affected index.Affected
}

func (r *rounds) find(key roundKey) (affected index.Affected, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := slices.IndexFunc(r.all, func(one round) bool { return one.roundKey == key })
	if at < 0 {
		return affected, false
	}
	one := r.all[at]
	r.all = append(slices.Delete(r.all, at, at+1), one)
	return one.affected, true
}

func (r *rounds) keep(key roundKey, affected index.Affected) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remove(key)
	if len(r.all) == roundsKept {
		r.all = slices.Delete(r.all, 0, 1)
	}
	r.all = append(r.all, round{key, affected})
}

// forget drops a round that is over, so that it takes no place of those that are not.
func (r *rounds) forget(key roundKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remove(key)
}

func (r *rounds) remove(key roundKey) {
	r.all = slices.DeleteFunc(r.all, func(one round) bool { return one.roundKey == key })
}
