package auth

import (
	"hash/maphash"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// limiterShards spreads the locks; limiterSize bounds what one shard remembers.
const (
	limiterShards = 16
	limiterSize   = 4096
)

// Limiter bounds how often each key may call. It is safe for concurrent use.
type Limiter struct {
	perSecond float64
	burst     int
	clock     func() time.Time
	seed      maphash.Seed
	shards    [limiterShards]shard
}

type shard struct {
	mu      sync.Mutex
	buckets map[string]*rate.Limiter
}

// Grant is the answer to one call.
type Grant struct {
	OK        bool
	Limit     int           // calls at once
	Remaining int           // of them, now
	Wait      time.Duration // until the next call may pass; 0 when OK
	Reset     time.Duration // until Remaining is Limit again
}

// NewLimiter allows perSecond calls a second to each key, and burst at once. A
// perSecond of 0 or less sets no limit.
func NewLimiter(perSecond float64, burst int, clock func() time.Time) *Limiter {
	l := &Limiter{perSecond: perSecond, burst: max(burst, 1), clock: clock, seed: maphash.MakeSeed()}
	for i := range l.shards {
		l.shards[i].buckets = map[string]*rate.Limiter{}
	}
	return l
}

// Limited reports whether there is a limit at all.
func (l *Limiter) Limited() bool { return l.perSecond > 0 }

// Allow counts one call of the key.
func (l *Limiter) Allow(key string) Grant {
	if !l.Limited() {
		return Grant{OK: true}
	}
	now := l.clock()
	b := l.bucket(key, now)
	ok := b.AllowN(now, 1)
	tokens := max(b.TokensAt(now), 0)
	g := Grant{OK: ok, Limit: l.burst, Remaining: int(tokens), Reset: l.time(float64(l.burst) - tokens)}
	if !ok {
		g.Wait = l.time(1 - tokens)
	}
	return g
}

func (l *Limiter) time(tokens float64) time.Duration {
	return time.Duration(max(tokens, 0) / l.perSecond * float64(time.Second))
}

// bucket finds the key's bucket. A shard that is full forgets another one first.
func (l *Limiter) bucket(key string, now time.Time) *rate.Limiter {
	s := &l.shards[maphash.String(l.seed, key)%limiterShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.buckets[key]
	if ok {
		return b
	}
	if len(s.buckets) >= limiterSize {
		s.forget(now)
	}
	b = rate.NewLimiter(rate.Limit(l.perSecond), l.burst)
	s.buckets[key] = b
	return b
}

// sampled is how many buckets are looked at to forget one.
const sampled = 16

// forget drops the fullest of some buckets: mostly one that has filled up again,
// which a new one would not differ from. Whoever calls under ever new keys thus
// costs neither memory nor time without bound, and drops none that are drained.
func (s *shard) forget(now time.Time) {
	fullest, most, seen := "", math.Inf(-1), 0
	for key, b := range s.buckets { // from anywhere in it, as maps do
		if tokens := b.TokensAt(now); tokens > most {
			fullest, most = key, tokens
		}
		if seen++; seen == sampled {
			break
		}
	}
	delete(s.buckets, fullest)
}
