package hosts

import (
	"context"
	"errors"
	"maps"
	"net/url"
	"sync"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/job"
)

// A host is asked by so many at once, so that one that answers slowly holds up nobody
// but those who wait for it.
const askedAtOnce = 2

// A deployment asks all its hosts by so many at once. There are 8 who tell and 8 who hear, so
// that one whose hosts all are slow leaves others half of them; two such take all, for
// tellFor at most, and who comes next is whose turn is the longest ago (store.ClaimJob).
const askedByOne = 4

// Of these, hosts of which the last answer was that they are down have so many together: one
// that answers finds a place, however many do not.
const askedOfDown = 2

// turns says who may ask which host. It is safe for concurrent use; the zero one lets all.
type turns struct {
	mu      sync.Mutex
	at      map[string]int       // how many ask a host
	by      map[int64]int        // how many ask for a deployment
	ofDown  map[int64]int        // how many of these ask hosts that were down
	down    map[string]bool      // hosts that were, when they were asked last
	waiting map[string]int       // how many were sent away since one had its turn
	until   map[string]time.Time // when a host wants to be asked again
}

// take does what asks the host of a deployment's connection, if it is its turn; else it is a
// job.WaitError. A host that asks to wait is left alone for so long, by all of that
// connection.
func (t *turns) take(deploymentID int64, c redoubt.Connection, now time.Time, ask func() error) error {
	host, who := hostOf(c), string(c.Credential)
	wasDown, wait := t.enter(deploymentID, host, who, now)
	if wait > 0 {
		return job.WaitError{Wait: wait, Reason: "the host was busy all the time"}
	}
	err := ask()
	t.mu.Lock()
	defer t.mu.Unlock()
	less(t.at, host)
	less(t.by, deploymentID)
	if wasDown {
		less(t.ofDown, deploymentID)
	}
	if delete(t.down, host); errors.Is(err, redoubt.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
		t.down[host] = true
	}
	if busy, is := errors.AsType[*redoubt.BusyError](err); is {
		t.until[who] = now.Add(busy.Wait)
	}
	return err
}

// rest is for how long the host of a connection wants to be left alone.
func (t *turns) rest(c redoubt.Connection, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.until[string(c.Credential)].Sub(now)
}

// leave has a host that asked to wait left alone by all of the connection.
func (t *turns) leave(c redoubt.Connection, now time.Time, wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.make()
	t.until[string(c.Credential)] = now.Add(wait)
}

// forget drops what is known of hosts that nobody has a connection to any more, and of times
// that are over.
func (t *turns) forget(there map[string]bool, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.down, func(host string, _ bool) bool { return !there[host] })
	maps.DeleteFunc(t.waiting, func(host string, _ int) bool { return !there[host] })
	maps.DeleteFunc(t.until, func(_ string, until time.Time) bool { return !until.After(now) })
}

// make makes what is counted in.
func (t *turns) make() {
	if t.at == nil {
		t.at, t.by, t.waiting, t.until = map[string]int{}, map[int64]int{}, map[string]int{}, map[string]time.Time{}
		t.ofDown, t.down = map[int64]int{}, map[string]bool{}
	}
}

// less counts one less.
func less[K comparable](counts map[K]int, of K) {
	if counts[of]--; counts[of] <= 0 {
		delete(counts, of)
	}
}

// enter takes a turn, and says whether it is one of a host that was down; or it says when to
// try again: the later, the more wait.
func (t *turns) enter(deploymentID int64, host, who string, now time.Time) (down bool, wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.make()
	if wait := t.until[who].Sub(now); wait > 0 {
		return false, wait
	}
	delete(t.until, who)
	down = t.down[host]
	if t.at[host] >= askedAtOnce || t.by[deploymentID] >= askedByOne || down && t.ofDown[deploymentID] >= askedOfDown {
		t.waiting[host]++
		return false, min(time.Second+time.Duration(t.waiting[host])*time.Second/4, time.Minute)
	}
	t.at[host]++
	t.by[deploymentID]++
	if down {
		t.ofDown[deploymentID]++
	}
	delete(t.waiting, host)
	return down, 0
}

// hostOf is where a connection asks.
func hostOf(c redoubt.Connection) string {
	if u, err := url.Parse(c.BaseURL); err == nil {
		return u.Host
	}
	return c.BaseURL
}
