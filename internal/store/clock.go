package store

import (
	"context"
	"errors"
	"time"

	"github.com/redoubt/redoubt"
)

const (
	// clockSetting holds the latest time that readers may have been shown, for those who
	// open the database next.
	clockSetting = "clock shown"
	// clockLead is how far ahead of the clock KeepClock notes.
	clockLead = 2 * time.Minute
)

// ClockEvery is how often KeepClock is to be called: before readers are shown a time behind
// the one that it noted last.
const ClockEvery = time.Minute

// KeepClock notes which times readers may be shown until it is called again, if they were
// shown any since it was called last: a server that is started again, whose clock was set
// back meanwhile, holds it still until it is there again, as it does without a start (see
// Tx.Clock). Nothing that was committed tells it, where readers came and writers did not.
func (s *Store) KeepClock(ctx context.Context) error {
	if !s.seen.shown.Swap(false) {
		return nil
	}
	now := s.now()
	through := later(now.Add(clockLead), s.seen.rise(now))
	err := s.engine.update(ctx, func(ctx context.Context, q *session) error {
		noted, err := q.notedClock(ctx, q.engine.forUpdate)
		if err != nil {
			return err
		}
		return q.putSetting(ctx, clockSetting, []byte(risen(through, noted).Format(time.RFC3339Nano)))
	})
	if err != nil {
		s.seen.shown.Store(true) // which the next call notes
	}
	return err
}

// recallClock takes up what KeepClock noted.
func (s *Store) recallClock(ctx context.Context) error {
	return s.engine.view(ctx, func(ctx context.Context, q *session) error {
		noted, err := q.notedClock(ctx, "")
		if err == nil {
			s.seen.latest = noted
		}
		return err
	})
}

// notedClock is what was noted; the zero time for nothing.
func (q *session) notedClock(ctx context.Context, lock string) (noted time.Time, err error) {
	text, err := one(ctx, q, scalar[[]byte], `SELECT value FROM setting WHERE name = $1`+lock, clockSetting)
	if errors.Is(err, redoubt.ErrNotFound) {
		return noted, nil
	}
	if err == nil {
		noted, _ = time.Parse(time.RFC3339Nano, string(text)) // what cannot be read tells nothing
	}
	return noted, err
}
