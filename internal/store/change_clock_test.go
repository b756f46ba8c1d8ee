package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/storetest"
)

// sight is what a client has that read a list: the time, and the version that it was shown.
type sight struct {
	at      time.Time
	version int64
}

func (d tenant) look(clock *storetest.Clock) sight { return sight{clock.Now(), d.version()} }

// missesNothing holds what a time stands for against what was seen then. A time that is
// still to come nobody may ask for.
func (d tenant) missesNothing(s sight) {
	d.t.Helper()
	var toCome bool
	d.view(func(_ context.Context, tx *store.Tx) error {
		toCome = s.at.After(tx.Clock().Add(time.Minute))
		return nil
	})
	if toCome {
		return
	}
	version, err := d.versionAt(s.at)
	if err != nil && !errors.Is(err, redoubt.ErrConflict) {
		d.t.Fatal(err)
	}
	if err == nil && version > s.version {
		d.t.Errorf("who was shown %d at %v is told what changed since %d", s.version, s.at, version)
	}
}

// TestACommitThatTakesLong: a commit that looked at the clock long before others see what it
// did is told to who has looked meanwhile, whatever comes after it.
func TestACommitThatTakesLong(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			clock := storetest.NewClock()
			config := storetest.Database(t, engine, clock)
			reader := tenant{t, storetest.Open(t, config), 0}
			var seen []sight
			slow := false // while it is, ten minutes pass behind each look at the clock
			config.Clock = func() time.Time {
				now := clock.Now()
				for range 10 {
					if slow {
						clock.Advance(time.Minute)
						seen = append(seen, reader.look(clock))
					}
				}
				return now
			}
			d := newTenant(t, storetest.Open(t, config))
			reader.id = d.id
			d.project("acme/first")
			slow = true
			d.project("acme/slow")
			slow = false
			last := d.look(clock)
			seen = append(seen, last)
			clock.Advance(2 * time.Minute)
			d.project("acme/next")
			for _, s := range seen {
				d.missesNothing(s)
				reader.missesNothing(s)
			}
			if version, err := d.versionAt(clock.Now()); err != nil || version != last.version {
				t.Errorf("two minutes later: since %d, %v; want %d", version, err, last.version)
			}
		})
	}
}

// TestACommitThatHangs: PostgreSQL holds a COMMIT up, as where a standby does not acknowledge
// it, while clients read from another server and minutes pass.
func TestACommitThatHangs(t *testing.T) {
	clock := storetest.NewClock()
	config := storetest.Database(t, "postgres", clock)
	writer := newTenant(t, storetest.Open(t, config))
	reader := tenant{t, storetest.Open(t, config), writer.id}
	writer.project("acme/first")
	gate, err := sql.Open("pgx", config.DatabaseURL)
	writer.check(err)
	defer gate.Close()
	hold, err := gate.Conn(t.Context())
	writer.check(err)
	for _, query := range []string{
		`CREATE FUNCTION hang() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock_shared(7); RETURN NULL; END'`,
		`CREATE CONSTRAINT TRIGGER hang AFTER INSERT ON project DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION hang()`,
		`SELECT pg_advisory_lock(7)`,
	} {
		_, err := hold.ExecContext(t.Context(), query)
		writer.check(err)
	}
	committed := make(chan error, 1)
	go func() {
		committed <- writer.s.Update(t.Context(), writer.id, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.ProjectForScan(ctx, nil, redoubt.Project{Name: "acme/hangs", Tags: []string{}})
			return err
		})
	}()
	waiting := 0
	for waiting == 0 {
		writer.check(hold.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`).Scan(&waiting))
	}
	var seen []sight
	for range 10 {
		clock.Advance(time.Minute)
		seen = append(seen, reader.look(clock))
	}
	_, err = hold.ExecContext(t.Context(), `SELECT pg_advisory_unlock(7)`)
	writer.check(err)
	writer.check(<-committed)
	for range 2 {
		clock.Advance(5 * time.Minute)
		for _, s := range seen {
			writer.missesNothing(s)
			reader.missesNothing(s)
		}
		reader.project(fmt.Sprint("acme/after ", clock.Now()))
	}
}

// TestAClockThatWasDaysBack for a while, over a quiet time, tells who looked meanwhile all that
// came after, also where it came before the clock was set back.
func TestAClockThatWasDaysBack(t *testing.T) {
	const day = 24 * time.Hour
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			clock := storetest.NewClock()
			d := newTenant(t, storetest.Open(t, storetest.Database(t, engine, clock)))
			d.project("acme/first")
			clock.Advance(9 * day)
			seen := d.look(clock)
			clock.Advance(day)
			d.project("acme/right")
			clock.Advance(-3 * day)
			d.project("acme/back")
			clock.Advance(4 * day)
			d.missesNothing(seen)
			d.project("acme/right again")
			d.missesNothing(seen)
		})
	}
}

// TestClocksThatJump: whatever was shown at whatever time the clock told, two servers tell all
// that came after; and a clock that is right again is as good as one that always was.
func TestClocksThatJump(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			clock := storetest.NewClock()
			config := storetest.Database(t, engine, clock)
			one := newTenant(t, storetest.Open(t, config))
			servers := []tenant{one, {t, storetest.Open(t, config), one.id}}
			rnd := rand.New(rand.NewPCG(14, 4))
			var seen []sight
			happen := func(n int) {
				for i := range n {
					clock.Advance(time.Duration(rnd.IntN(100)) * time.Second)
					if rnd.IntN(3) > 0 {
						servers[rnd.IntN(2)].project(fmt.Sprint("acme/", clock.Now().UnixNano(), i, rnd.Uint64()))
					}
					seen = append(seen, servers[rnd.IntN(2)].look(clock))
				}
			}
			for _, jump := range []time.Duration{0, -5 * time.Minute, 3 * time.Hour, -3 * time.Hour, 20 * 365 * 24 * time.Hour, -20 * 365 * 24 * time.Hour, 10 * time.Minute, -10 * time.Minute} {
				for _, d := range servers {
					d.look(clock)
				}
				clock.Advance(jump)
				happen(12)
				for _, s := range seen {
					servers[rnd.IntN(2)].missesNothing(s)
				}
			}
			clock.Advance(4 * time.Hour) // past all but the years to come
			one.project("acme/right")
			for range 3 {
				now := one.look(clock)
				clock.Advance(5 * time.Minute)
				one.project(fmt.Sprint("acme/", clock.Now().UnixNano()))
				clock.Advance(5 * time.Minute)
				if version, err := one.versionAt(now.at.Add(2 * time.Minute)); err != nil || version != now.version {
					t.Errorf("with a clock that is right: since %d, %v; want %d", version, err, now.version)
				}
			}
			for _, s := range seen {
				one.missesNothing(s)
			}
			one.check(one.s.PruneChanges(t.Context(), one.id, 3))
			for _, s := range seen {
				one.missesNothing(s)
			}
		})
	}
}

// TestAClockSetBackInQuietHours: who looked while nothing was committed is told what came when
// the clock had been set back to before that.
func TestAClockSetBackInQuietHours(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			clock := storetest.NewClock()
			d := newTenant(t, storetest.Open(t, storetest.Database(t, engine, clock)))
			d.project("acme/first")
			clock.Advance(2 * time.Hour)
			seen := d.look(clock)
			clock.Advance(-time.Hour)
			for i := range 30 {
				d.project(fmt.Sprint("acme/", i))
				clock.Advance(4 * time.Minute)
				d.missesNothing(seen)
			}
		})
	}
}
