package core

import (
	"slices"
	"sync"

	"github.com/redoubt/redoubt/internal/index"
)

// roundsKept limits the bytes of all cached rounds: one bit or so for each finding of a
// round, two bytes where the findings of a round lie far apart.
const roundsKept = 64 << 20

// roundOverhead is the number of bytes of a round without its findings.
const roundOverhead = 256

// RoundKey identifies a round of changes. Versions name commits, so it never changes meaning.
type RoundKey struct{ Deployment, Since, Until int64 }

// Rounds caches the affected findings of unfinished rounds, so that the next answer of a round
// does not read all changes again. The least recently used rounds are dropped first.
type Rounds struct {
	most int // bytes of all

	mu   sync.Mutex
	all  []round // the last used at the end
	size int     // bytes
}

// NewRounds returns an empty cache of at most so many bytes.
func NewRounds(most int) *Rounds { return &Rounds{most: most} }

type round struct {
	RoundKey
	affected index.Affected
	size     int // bytes
}

// Find returns the affected findings of a round.
func (r *Rounds) Find(key RoundKey) (affected index.Affected, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one, ok := r.remove(key)
	if ok {
		r.add(one)
	}
	return one.affected, ok
}

// Keep stores the affected findings of a round.
func (r *Rounds) Keep(key RoundKey, affected index.Affected) {
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

// Len returns the number of rounds.
func (r *Rounds) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.all)
}
