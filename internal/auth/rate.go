package auth

import (
	"hash/maphash"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// limiterShards distributes the locks. limiterSize limits the keys of one shard.
const (
	limiterShards = 16
	limiterSize   = 4096
)

// Limiter limits the call rate of each key. It is safe for concurrent use.
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

// Grant is the result of one call.
type Grant struct {
	OK        bool
	Limit     int           // maximum burst
	Remaining int           // remaining calls of the burst
	Wait      time.Duration // until the next call is allowed; 0 if OK
	Reset     time.Duration // until Remaining equals Limit again
}

// NewLimiter returns a limiter that allows perSecond calls a second for each key, and burst calls
// at once. There is no limit if perSecond is 0 or less.
func NewLimiter(perSecond float64, burst int, clock func() time.Time) *Limiter {
	l := &Limiter{perSecond: perSecond, burst: max(burst, 1), clock: clock, seed: maphash.MakeSeed()}
	for i := range l.shards {
		l.shards[i].buckets = map[string]*rate.Limiter{}
	}
	return l
}

// Limited reports whether there is a limit.
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

// bucket returns the key's bucket. A full shard first drops another one.
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

// sampled is the number of buckets that are compared to drop one.
const sampled = 16

// forget drops the fullest of some buckets, which is usually equal to a new one. Callers with ever
// new keys thus cost bounded memory and time, and do not displace drained buckets.
func (s *shard) forget(now time.Time) {
	fullest, most, seen := "", math.Inf(-1), 0
	for key, b := range s.buckets { // map iteration starts at a random position
		if tokens := b.TokensAt(now); tokens > most {
			fullest, most = key, tokens
		}
		if seen++; seen == sampled {
			break
		}
	}
	delete(s.buckets, fullest)
}
