package hosts

import (
	"slices"
	"sync"
)

// Bounds of what is followed at once: hosts of all deployments, hosts of one, and deployments
// at one host. One deployment whose hosts all are slow leaves others their places, and so does
// one host that many deployments ask.
const (
	hostsAtOnce = 32
	hostsOfOne  = 8
	askAtOne    = 4
)

// askedHost is a host that a deployment has connections to.
type askedHost struct {
	deployment int64
	host       string
}

// rounds are those under way, each of a host of a deployment, and those that wait for a place:
// no place is taken by one that waits for another. The zero one has none; it is safe for
// concurrent use.
type rounds struct {
	mu      sync.Mutex
	busy    map[askedHost]bool // under way, or waiting
	inside  []askedHost
	waiting []*waitingRound // in the order in which they came
}

type waitingRound struct {
	of    askedHost
	ready chan struct{}
}

// begin reports whether a host is free to be asked, not while the last round of it goes on.
func (r *rounds) begin(of askedHost) (free bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.busy == nil {
		r.busy = map[askedHost]bool{}
	}
	free = !r.busy[of]
	r.busy[of] = true
	return free
}

func (r *rounds) end(of askedHost) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.busy, of)
}

// enter waits for a place.
func (r *rounds) enter(of askedHost) {
	w := &waitingRound{of, make(chan struct{})}
	r.mu.Lock()
	r.waiting = append(r.waiting, w)
	r.admit()
	r.mu.Unlock()
	<-w.ready
}

// leave gives the place back.
func (r *rounds) leave(of askedHost) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at := slices.Index(r.inside, of); at >= 0 {
		r.inside = slices.Delete(r.inside, at, at+1)
	}
	r.admit()
}

// admit lets in who waits and fits, those first who came first.
func (r *rounds) admit() {
	r.waiting = slices.DeleteFunc(r.waiting, func(w *waitingRound) bool {
		fits := r.fits(w.of)
		if fits {
			r.inside = append(r.inside, w.of)
			close(w.ready)
		}
		return fits
	})
}

func (r *rounds) fits(of askedHost) bool {
	ofOne, atOne := 0, 0
	for _, other := range r.inside {
		if other.deployment == of.deployment {
			ofOne++
		}
		if other.host == of.host {
			atOne++
		}
	}
	return len(r.inside) < hostsAtOnce && ofOne < hostsOfOne && atOne < askAtOne
}
