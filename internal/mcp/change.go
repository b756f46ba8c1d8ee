package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"
)

// How many changes wait to be confirmed, and for how long. They are kept in memory
// as their requests, and counted by the bytes of those.
const (
	ChangeFor         = 10 * time.Minute
	maxOfCaller       = 20
	maxBytesOfCaller  = 512 << 10
	maxBytesOfTenant  = 8 << 20
	maxBytesOfProcess = 64 << 20
	changeOverhead    = 512 // bytes of the record around a request
)

// errNoChange is the answer about a confirmation that is not there, whatever the
// reason: who guesses learns nothing.
var errNoChange = errors.New("there is no such change to confirm: it was done already, it is older than 10 minutes, " +
	"it belongs to another token, or the server was started since. Plan it again")

// Changes are what assistants have planned and nobody has confirmed yet. They are
// in the memory of one process: another one knows nothing of them, and so
// refuses. It is safe for concurrent use.
type Changes struct {
	clock func() time.Time

	mu      sync.Mutex
	planned map[string]change // by confirmation id
}

// change is one planned change: of which token, until when, what is sent and how.
// It holds nothing of who planned it but their name: who confirms sends it, by what
// their token may then.
type change struct {
	deployment, caller string
	until              time.Time
	request            []byte // JSON
	send               func(ctx context.Context, by *assistant, request []byte, key string) (data any, err error)
}

// size is what a change counts, in bytes.
func (c *change) size() int { return len(c.request) + changeOverhead }

// NewChanges makes it.
func NewChanges(clock func() time.Time) *Changes {
	return &Changes{clock: clock, planned: map[string]change{}}
}

// keep plans to send a request and returns its confirmation id, which is the key
// that it is sent with, so that it is done once.
func keep[T any](
	a *assistant, request T, send func(*assistant, context.Context, T, string) (any, error),
) (id string, err error) {
	text, err := json.Marshal(request)
	if err != nil {
		return "", err
	}
	return a.Changes.plan(change{
		deployment: a.Deployment,
		caller:     a.Caller,
		request:    text,
		send: func(ctx context.Context, by *assistant, text []byte, key string) (any, error) {
			var request T
			if err := json.Unmarshal(text, &request); err != nil {
				return nil, err
			}
			return send(by, ctx, request, key)
		},
	})
}

// plan keeps a change. Of one token the oldest go when there are too many or they
// are too long; where its deployment or all of them have too much, it is refused.
func (c *Changes) plan(p change) (id string, err error) {
	if p.size() > maxBytesOfCaller {
		return "", errors.New(
			"the change is too long to wait for its confirmation: name fewer findings at once, or select them by a filter",
		)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p.until = c.clock().Add(ChangeFor)
	c.evictOldest(&p)
	tenant, all := p.size(), p.size()
	for _, other := range c.planned {
		all += other.size()
		if other.deployment == p.deployment {
			tenant += other.size()
		}
	}
	if tenant > maxBytesOfTenant || all > maxBytesOfProcess {
		return "", errors.New("too many changes wait to be confirmed here: confirm some, or try again in some minutes")
	}
	id = rand.Text()
	c.planned[id] = p
	return id, nil
}

// evictOldest forgets what is late, and the oldest changes of a token that has one more.
func (c *Changes) evictOldest(p *change) {
	now, size := c.clock(), p.size()
	var own []string
	for id, other := range c.planned {
		switch {
		case !other.until.After(now):
			delete(c.planned, id)
		case other.caller == p.caller && other.deployment == p.deployment:
			own = append(own, id)
			size += other.size()
		}
	}
	slices.SortFunc(own, func(a, b string) int { return c.planned[a].until.Compare(c.planned[b].until) })
	for len(own) >= maxOfCaller || size > maxBytesOfCaller {
		oldest := c.planned[own[0]]
		size -= oldest.size()
		delete(c.planned, own[0])
		own = own[1:]
	}
}

// take removes a change of a token: it can be done once. What is another's stays.
func (c *Changes) take(a *assistant, id string) (change, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, ok := c.planned[id]
	if !ok || p.caller != a.Caller || p.deployment != a.Deployment || !p.until.After(c.clock()) {
		return change{}, errNoChange
	}
	delete(c.planned, id)
	return p, nil
}
