package mcp

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"
)

// How many changes wait to be confirmed, and for how long.
const (
	ChangeFor   = 10 * time.Minute
	maxChanges  = 1000
	maxOfCaller = 20
)

// errNoChange is the answer about a confirmation that is not there, whatever the
// reason: who guesses learns nothing.
var errNoChange = errors.New("there is no such change to confirm: it was done already, it is older than 10 minutes, it belongs to another token, or the server was started since. Plan it again")

// Changes are what assistants have planned and nobody has confirmed yet. They are
// in the memory of one process: another one knows nothing of them, and so
// refuses. It is safe for concurrent use.
type Changes struct {
	clock func() time.Time

	mu      sync.Mutex
	planned map[string]change // by confirmation id
}

// change is one planned change: of whom, until when, and what does it. The id is
// the key that the request is sent with, so that it is done once.
type change struct {
	caller string
	until  time.Time
	do     func(ctx context.Context, key string) (said string, data any, err error)
}

// NewChanges makes it.
func NewChanges(clock func() time.Time) *Changes {
	return &Changes{clock: clock, planned: map[string]change{}}
}

// plan keeps a change and returns its confirmation id. Of one caller the oldest
// goes when there are too many.
func (c *Changes) plan(caller string, do func(context.Context, string) (string, any, error)) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock()
	of, oldest := 0, ""
	for id, p := range c.planned {
		if !p.until.After(now) {
			delete(c.planned, id)
			continue
		}
		if p.caller != caller {
			continue
		}
		of++
		if oldest == "" || p.until.Before(c.planned[oldest].until) {
			oldest = id
		}
	}
	if of >= maxOfCaller {
		delete(c.planned, oldest)
	}
	if len(c.planned) >= maxChanges {
		return "", errors.New("too many changes wait to be confirmed on this server: try again in some minutes")
	}
	id := rand.Text()
	c.planned[id] = change{caller, now.Add(ChangeFor), do}
	return id, nil
}

// take removes a change of a caller: it can be done once. What is another's stays.
func (c *Changes) take(caller, id string) (change, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, ok := c.planned[id]
	if !ok || p.caller != caller || !p.until.After(c.clock()) {
		return change{}, errNoChange
	}
	delete(c.planned, id)
	return p, nil
}
