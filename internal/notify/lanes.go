package notify

import (
	"fmt"
	"slices"
	"sync"

	"github.com/redoubt/redoubt"
)

// How many receivers are told at once, so that who is slow or has much to be told leaves
// the others their lanes.
const (
	lanesInAll      = 128
	lanesOfOne      = 8 // of one deployment
	lanesOfHost     = 4 // of one deployment to one host
	lanesOfRepeated = 4 // of one deployment, whose last attempt failed
	lanesOfMail     = 8 // to the mail server, of all
)

// lane is a receiver that is told, or waits to be.
type lane struct {
	deployment int64
	to         redoubt.NotificationReceiver
	limits     []limit
}

// limit is how many lanes with the same key there may be.
type limit struct {
	key  string
	most int
}

// newLane is that of a receiver at a host; repeated says that the last attempt failed.
func newLane(deployment int64, to redoubt.NotificationReceiver, host string, repeated bool) lane {
	of := fmt.Sprintf("deployment %d ", deployment)
	l := lane{deployment, to, []limit{{"all", lanesInAll}, {of, lanesOfOne}, {of + "host " + host, lanesOfHost}, {of + fmt.Sprintf("receiver %+v", to), 1}}}
	if repeated {
		l.limits = append(l.limits, limit{of + "repeated", lanesOfRepeated})
	}
	if to.RuleID == 0 {
		l.limits = append(l.limits, limit{"mail", lanesOfMail})
	}
	return l
}

// lanes says who is told next. It is safe for concurrent use.
type lanes struct {
	mu      sync.Mutex
	taken   map[string]int   // by the key of a limit
	waiting map[int64][]lane // by deployment, in the order in which they go
}

// plan has receivers of a deployment wait for their lanes, before those that waited and are
// not among them: one may have come back since the list was made.
func (l *lanes) plan(deployment int64, list []lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting == nil {
		l.waiting, l.taken = map[int64][]lane{}, map[string]int{}
	}
	for _, had := range l.waiting[deployment] {
		if !slices.ContainsFunc(list, func(of lane) bool { return of.to == had.to }) {
			list = append(list, had)
		}
	}
	l.waiting[deployment] = list
	if len(list) == 0 {
		delete(l.waiting, deployment)
	}
}

// enter takes a lane for the first receiver of some deployment that may have one. It is
// false where none may.
func (l *lanes) enter() (lane, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for deployment, list := range l.waiting {
		i := slices.IndexFunc(list, l.free)
		if i < 0 {
			continue
		}
		next := list[i]
		if l.waiting[deployment] = slices.Delete(list, i, i+1); len(list) == 1 {
			delete(l.waiting, deployment)
		}
		for _, b := range next.limits {
			l.taken[b.key]++
		}
		return next, true
	}
	return lane{}, false
}

func (l *lanes) free(of lane) bool {
	return !slices.ContainsFunc(of.limits, func(b limit) bool { return l.taken[b.key] >= b.most })
}

// leave gives a lane back. Whose receiver is to be told more waits behind the others.
func (l *lanes) leave(of lane, more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range of.limits {
		if l.taken[b.key]--; l.taken[b.key] <= 0 {
			delete(l.taken, b.key)
		}
	}
	if more {
		l.waiting[of.deployment] = append(l.waiting[of.deployment], of)
	}
}
