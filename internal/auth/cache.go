package auth

import (
	"fmt"
	"maps"
	"sync"
	"time"
)

// CacheFor is how long an answer of the store is believed. A revocation is
// therefore seen within a second, on every server and after every command.
const CacheFor = time.Second

// cacheSize bounds a cache; beyond it, it starts anew.
const cacheSize = 4096

// cache remembers what the store said of credentials that exist, by their hash.
// Those that somebody made up are not kept: there is no end to them, and they
// would push out the others. It is safe for concurrent use.
type cache[T any] struct {
	mu      sync.Mutex
	entries map[string]cacheEntry[T]
}

// cacheEntry is one answer of the store.
type cacheEntry[T any] struct {
	answer T
	until  time.Time
}

// get finds an answer that is still believed.
func (c *cache[T]) get(sum []byte, now time.Time) (T, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[string(sum)]
	return e.answer, ok && now.Before(e.until)
}

func (c *cache[T]) put(sum []byte, answer T, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries == nil || len(c.entries) >= cacheSize {
		c.entries = map[string]cacheEntry[T]{}
	}
	c.entries[string(sum)] = cacheEntry[T]{answer, now.Add(CacheFor)}
}

// forget has the store asked anew for all.
func (c *cache[T]) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.entries)
}

// lastUses gathers when credentials were last used, for one statement to write
// what many requests did. It is safe for concurrent use.
type lastUses[K comparable, Use any] struct {
	mu    sync.Mutex
	noted map[K]Use // not yet written
}

func (l *lastUses[K, Use]) note(key K, use Use) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.noted == nil {
		l.noted = map[K]Use{}
	}
	l.noted[key] = use
}

// of is the use of a credential that is not yet written.
func (l *lastUses[K, Use]) of(key K) (Use, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	use, ok := l.noted[key]
	return use, ok
}

// flush hands to write what was noted. What could not be written is kept for the
// next time, unless something newer was noted meanwhile.
func (l *lastUses[K, Use]) flush(write func([]Use) error) error {
	l.mu.Lock()
	noted := l.noted
	l.noted = nil
	l.mu.Unlock()
	if len(noted) == 0 {
		return nil
	}
	list := make([]Use, 0, len(noted))
	for _, use := range noted {
		list = append(list, use)
	}
	err := write(list)
	if err == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.Copy(noted, l.noted)
	l.noted = noted
	return fmt.Errorf("note when credentials were used: %w", err)
}
