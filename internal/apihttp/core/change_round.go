package core

import (
	"slices"
	"sync"

	"github.com/redoubt/redoubt/internal/index"
)

// maxRoundsSize limits the bytes of all cached rounds. A finding needs about one bit, or two bytes if
// the ids of a round are far apart.
const maxRoundsSize = 64 << 20

// roundOverhead is the number of bytes of a round without its findings.
const roundOverhead = 256

// RoundKey identifies a round of changes. Versions identify commits, so the meaning of a key never
// changes.
type RoundKey struct{ Deployment, Since, Until int64 }

// Rounds caches the affected findings of unfinished rounds, so that the next page of a round does
// not read all changes again. The least recently used rounds are dropped first. It is safe for
// concurrent use.
type Rounds struct {
	most int // limit of size, in bytes

	mu   sync.Mutex
	all  []round // least recently used first
	size int     // bytes of all rounds
}

// NewRounds returns an empty cache that is limited to most bytes.
func NewRounds(most int) *Rounds { return &Rounds{most: most} }

type round struct {
	RoundKey
	affected index.Affected
	size     int
}

// Find returns the affected findings of a round and marks the round as used.
func (r *Rounds) Find(key RoundKey) (affected index.Affected, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one, ok := r.remove(key)
	if ok {
		r.add(one)
	}
	return one.affected, ok
}

// Put stores the affected findings of a round.
func (r *Rounds) Put(key RoundKey, affected index.Affected) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remove(key)
	r.add(round{RoundKey: key, affected: affected, size: affected.Size() + roundOverhead})
	for r.size > r.most {
		r.remove(r.all[0].RoundKey)
	}
}

// Forget drops a finished round.
func (r *Rounds) Forget(key RoundKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remove(key)
}

func (r *Rounds) add(one round) {
	r.all = append(r.all, one)
	r.size += one.size
}

func (r *Rounds) remove(key RoundKey) (one round, ok bool) {
	at := slices.IndexFunc(r.all, func(one round) bool { return one.RoundKey == key })
	if at < 0 {
		return one, false
	}
	one = r.all[at]
	r.all = slices.Delete(r.all, at, at+1)
	r.size -= one.size
	return one, true
}

// Len returns the number of cached rounds.
func (r *Rounds) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.all)
}
