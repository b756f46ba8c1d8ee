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

// Limits of planned changes. They are stored in memory as their requests, and limited by time,
// number and bytes.
const (
	ChangeFor         = 10 * time.Minute
	maxOfCaller       = 20
	maxBytesOfCaller  = 512 << 10
	maxBytesOfTenant  = 8 << 20
	maxBytesOfProcess = 64 << 20
	changeOverhead    = 512 // bytes of the record in addition to the request
)

// errNoChange is the error for every invalid confirmation, so that guessing reveals nothing.
var errNoChange = errors.New("no such change to confirm: it was already applied, is older than 10 minutes, belongs " +
	"to another token, or the server was restarted. Plan it again")

// Changes contains the changes that assistants planned and that were not confirmed yet. It is in
// the memory of one process; other processes reject the confirmations. It is safe for concurrent
// use.
type Changes struct {
	clock func() time.Time

	mu      sync.Mutex
	planned map[string]change // by confirmation id
}

// change is a planned change: its token, its expiry and its request. It contains no permissions of
// the caller: the confirming token sends the request with its own permissions.
type change struct {
	deployment, caller string
	until              time.Time
	request            []byte // JSON
	send               func(ctx context.Context, by *assistant, request []byte, key string) (data any, err error)
}

// size returns the bytes that a change counts.
func (c *change) size() int { return len(c.request) + changeOverhead }

// NewChanges returns an empty set of changes.
func NewChanges(clock func() time.Time) *Changes {
	return &Changes{clock: clock, planned: map[string]change{}}
}

// planRequest plans a request and returns its confirmation id. The id is also the idempotency key of the
// request, so it is done once.
func planRequest[T any](
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

// plan stores a change. If a token exceeds its limits, its oldest changes are dropped; if its
// deployment or the process does, the change is rejected.
func (c *Changes) plan(p change) (id string, err error) {
	if p.size() > maxBytesOfCaller {
		return "", errors.New(
			"the change is too large to store: name fewer findings at once, or select them by a filter",
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
		return "", errors.New("too many changes are waiting for confirmation: confirm some, or retry in a few minutes")
	}
	id = rand.Text()
	c.planned[id] = p
	return id, nil
}

// evictOldest drops expired changes, and the oldest changes of a token that exceeds its limits.
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

// remove deletes and returns a change of a token, so that it can be done once. Changes of other
// tokens remain.
func (c *Changes) remove(a *assistant, id string) (change, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, ok := c.planned[id]
	if !ok || p.caller != a.Caller || p.deployment != a.Deployment || !p.until.After(c.clock()) {
		return change{}, errNoChange
	}
	delete(c.planned, id)
	return p, nil
}
