package server

import (
	"slices"
	"sync"

	"github.com/redoubt/redoubt/internal/index"
)

// roundsKept is how many bytes rounds of changes may take: one bit or so for each finding of
// a round, two bytes where the findings of a round lie far apart.
const roundsKept = 64 << 20

// roundOverhead is how many bytes a round takes beside its findings.
const roundOverhead = 256

// roundKey names a round of changes: versions name commits, so it means the same for ever.
type roundKey struct{ deployment, since, until int64 }

// rounds are those that somebody is in the middle of, by which findings are told in them. A
// later answer of one would otherwise read all that changed again. What is not remembered,
// as after a start or from another server, is read.
//
// Those of one deployment may take a quarter of what all may, its last round more. Where all
// take too much, the deployment whose rounds take most loses the one that was used least
// recently.
type rounds struct {
	most int // bytes that all may take

	mu   sync.Mutex
	of   map[int64]*deploymentRounds
	size int // bytes of all
	uses int // how often one was used
}

// deploymentRounds are those of one deployment.
type deploymentRounds struct {
	all  []round // used last comes last
	size int     // bytes
}

type round struct {
	roundKey
	affected index.Affected
	size     int // bytes
	used     int // which use of all was its last
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
	one := round{roundKey: key, affected: affected, size: affected.Size() + roundOverhead}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remove(key)
	r.add(one)
	for d := r.of[key.deployment]; d.size > r.most/4 && len(d.all) > 1; {
		r.remove(d.all[0].roundKey)
	}
	for r.size > r.most {
		r.remove(r.largest().all[0].roundKey)
	}
}

// forget drops a round that is over, so that it takes no place of those that are not.
func (r *rounds) forget(key roundKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remove(key)
}

func (r *rounds) add(one round) {
	d := r.of[one.deployment]
	if d == nil {
		if r.of == nil {
			r.of = map[int64]*deploymentRounds{}
		}
		d = &deploymentRounds{}
		r.of[one.deployment] = d
	}
	r.uses++
	one.used = r.uses
	d.all = append(d.all, one)
	d.size += one.size
	r.size += one.size
}

func (r *rounds) remove(key roundKey) (one round, ok bool) {
	d := r.of[key.deployment]
	if d == nil {
		return one, false
	}
	at := slices.IndexFunc(d.all, func(one round) bool { return one.roundKey == key })
	if at < 0 {
		return one, false
	}
	one = d.all[at]
	d.all = slices.Delete(d.all, at, at+1)
	d.size -= one.size
	r.size -= one.size
	if len(d.all) == 0 {
		delete(r.of, key.deployment)
	}
	return one, true
}

// largest are the rounds of the deployment whose rounds take most; of several that take the
// same, of the one with the round that was used least recently.
func (r *rounds) largest() (most *deploymentRounds) {
	for _, d := range r.of {
		if most == nil || d.size > most.size || d.size == most.size && d.all[0].used < most.all[0].used {
			most = d
		}
	}
	return most
}
