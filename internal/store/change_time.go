package store

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redoubt/redoubt"
)

const (
	// changeTimeStep is how far times of versions lie apart at least.
	changeTimeStep = time.Minute
	// changeTimeSlack is how much further back a time is taken than it says, since clocks of
	// servers and clients differ.
	changeTimeSlack = time.Minute
	// clockReach is how far ahead of the clock a time may be that it showed before: one that is
	// further is of a clock that was wrong, and is not waited for.
	clockReach = 24 * time.Hour
)

// sightings are what the readers of this process were shown: which version of a deployment
// was its newest, since when, and the latest time.
type sightings struct {
	mu     sync.Mutex
	latest time.Time
	shown  atomic.Bool // some time, since KeepClock noted the latest
	newest map[int64]sighting
}

// sighting says that a version was there for all who read at a time or later.
type sighting struct {
	version int64
	at      time.Time
}

// clock is a time that is no earlier than any that was shown before, to readers or by
// commits: a clock that was set back stands still until it is there again.
func (s *sightings) clock(now, committed time.Time) time.Time {
	s.shown.Store(true)
	return risen(s.rise(now), committed)
}

// rise is the latest time that was shown, which now is from here on if it is later.
func (s *sightings) rise(now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latest = risen(now, s.latest)
	return s.latest
}

// risen is the later of two times, unless the second is out of reach.
func risen(now, before time.Time) time.Time {
	if before.After(now.Add(clockReach)) {
		return now
	}
	return later(now, before)
}

// see notes that a version is there, and returns since when that is known.
func (s *sightings) see(deploymentID, version int64, now time.Time) sighting {
	at := s.clock(now, time.Time{})
	s.mu.Lock()
	defer s.mu.Unlock()
	if seen, ok := s.newest[deploymentID]; ok && seen.version == version {
		return seen
	}
	if s.newest == nil {
		s.newest = map[int64]sighting{}
	}
	s.newest[deploymentID] = sighting{version, at}
	return s.newest[deploymentID]
}

// Clock is the time that clients may know: the store's clock when the transaction had read
// its version, or what it showed before it was set back. Now may be further ahead.
func (tx *Tx) Clock() time.Time { return tx.clock }

// noteChangeTime notes since when the version before this commit was there, once in each step
// and before a step in which nothing came. That holds whatever this commit takes: who has the
// deployment's write turn sees all commits before, and looked at the clock after that. While
// the clock is behind what it showed before, nothing is noted.
func (tx *Tx) noteChangeTime(ctx context.Context) error {
	at := tx.seen.see(tx.deployment.ID, tx.Version(), tx.clock).at
	after := at.Add(-changeTimeStep)
	if at.Before(tx.clock.Add(-changeTimeStep)) {
		after = at.Add(-time.Microsecond)
	}
	return tx.write(ctx, `INSERT INTO change_time (deployment_id, at, version)
		SELECT CAST($1 AS BIGINT), CAST($2 AS BIGINT), CAST($3 AS BIGINT)
		WHERE NOT EXISTS (SELECT 1 FROM change_time WHERE deployment_id = $1 AND at > $4 AND at <= $5)`,
		at, tx.Version(), after, at.Add(clockReach))
}

// VersionAt is a version of the deployment that was there at a time: all that was not seen
// then came after it, and so did some of what was. Where the feed does not tell all changes
// since, it is redoubt.ErrConflict.
func (tx *Tx) VersionAt(ctx context.Context, t time.Time) (int64, error) {
	t = t.Add(-changeTimeSlack)
	// What was noted behind a later time is of a clock that was days back for a while. What one
	// noted that was far ahead counts for nothing.
	noted, err := one(ctx, tx, scanSighting, `SELECT version, at FROM change_time WHERE deployment_id = $1 AND at <= $2 AND version >= 0 AND version <= COALESCE(
		(SELECT MIN(version) FROM change_time WHERE deployment_id = $1 AND at > $2 AND at <= $3 AND version >= 0), 9223372036854775807) ORDER BY at DESC LIMIT 1`,
		t, tx.clock.Add(clockReach))
	if errors.Is(err, redoubt.ErrNotFound) {
		err = nil // all that the feed ever told, if it still does
	}
	if err != nil {
		return 0, err
	}
	seen, err := tx.seenSince(ctx)
	if err != nil {
		return 0, err
	}
	if seen.After(noted.at) && !seen.After(t) {
		return tx.Version(), nil // nothing was committed since
	}
	return noted.version, tx.ReachesBack(ctx, noted.version)
}

// seenSince is since when this process knows that the newest version is there; the zero time
// where the clock showed a later time before, which somebody may know who has not seen it.
func (tx *Tx) seenSince(ctx context.Context) (time.Time, error) {
	seen := tx.seen.see(tx.deployment.ID, tx.Version(), tx.clock)
	later, err := many(ctx, tx, scalar[int64], `SELECT version FROM change_time WHERE deployment_id = $1 AND at > $2 AND at <= $3 LIMIT 1`,
		seen.at, tx.clock.Add(clockReach))
	if err != nil || len(later) > 0 {
		return time.Time{}, err
	}
	return seen.at, nil
}

func scanSighting(r row) (s sighting, err error) { return s, r.Scan(&s.version, instant(&s.at)) }

// pruneChangeTimes drops the times of versions whose changes the feed forgot, but for those
// behind the earliest that is left: a clock that was set back has shown them, and nobody
// knows any more what changed since.
func (tx *Tx) pruneChangeTimes(ctx context.Context, through int64) error {
	return tx.write(ctx, `DELETE FROM change_time WHERE deployment_id = $1 AND version < $2
		AND at < (SELECT MIN(at) FROM change_time WHERE deployment_id = $1 AND version >= $2)`, through)
}
