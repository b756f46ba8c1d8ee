package auth

import (
	"fmt"
	"maps"
	"sync"
	"time"
)

// CacheFor is how long results of the store are cached. A revocation therefore takes effect on
// every server within a second.
const CacheFor = time.Second

// cacheSize limits a cache. Above the limit it is cleared.
const cacheSize = 4096

// cache contains the store's results for existing credentials, by hash. Unknown credentials are not
// cached, because their unlimited number would displace others. It is safe for concurrent use.
type cache[T any] struct {
	mu      sync.Mutex
	entries map[string]cacheEntry[T]
}

// cacheEntry is one cached result.
type cacheEntry[T any] struct {
	answer T
	until  time.Time
}

// get returns a cached result that has not expired.
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

// forget clears the cache.
func (c *cache[T]) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.entries)
}

// lastUses collects the times of the last use of credentials, so that one statement stores them for
// many requests. It is safe for concurrent use.
type lastUses[K comparable, Use any] struct {
	mu    sync.Mutex
	noted map[K]Use // not yet stored
}

func (l *lastUses[K, Use]) note(key K, use Use) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.noted == nil {
		l.noted = map[K]Use{}
	}
	l.noted[key] = use
}

// of returns the unsaved use of a credential.
func (l *lastUses[K, Use]) of(key K) (Use, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	use, ok := l.noted[key]
	return use, ok
}

// flush calls write with the collected uses. After an error they are retained for the next call,
// unless there are newer ones.
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
	return fmt.Errorf("record the use of credentials: %w", err)
}
