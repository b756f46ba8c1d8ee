package server

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

// roundKey identifies a round of changes. Versions name commits, so it never changes meaning.
type roundKey struct{ deployment, since, until int64 }

// rounds caches the affected findings of unfinished rounds, so that the next answer of a round
// does not read all changes again. The least recently used rounds are dropped first.
type rounds struct {
	most int // bytes of all

	mu   sync.Mutex
	all  []round // the last used at the end
	size int     // bytes
}

type round struct {
	roundKey
	affected index.Affected
	size     int // bytes
}

func (r *rounds) find(key roundKey) (affected index.Affected, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one, ok := r.remove(key)
	if ok {
		r.add(one)
	}
	return one.affected, ok
}

func (r *rounds) keep(key roundKey, affected index.Affected) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remove(key)
	r.add(round{roundKey: key, affected: affected, size: affected.Size() + roundOverhead})
	for r.size > r.most {
		r.remove(r.all[0].roundKey)
	}
}

// forget drops a finished round.
func (r *rounds) forget(key roundKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remove(key)
}

func (r *rounds) add(one round) {
	r.all = append(r.all, one)
	r.size += one.size
}

func (r *rounds) remove(key roundKey) (one round, ok bool) {
	at := slices.IndexFunc(r.all, func(one round) bool { return one.roundKey == key })
	if at < 0 {
		return one, false
	}
	one = r.all[at]
	r.all = slices.Delete(r.all, at, at+1)
	r.size -= one.size
	return one, true
}
