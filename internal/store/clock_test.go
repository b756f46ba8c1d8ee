package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/storetest"
)

// TestAClockSetBackWithARestart: who looked in quiet hours is told what came when the clock had
// been set back to before that and the server started again, which knows of no reader.
func TestAClockSetBackWithARestart(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			clock := storetest.NewClock()
			config := storetest.Database(t, engine, clock)
			d := newTenant(t, storetest.Open(t, config))
			d.project("acme/first")
			var seen sight
			for range 120 {
				d.check(d.s.KeepClock(t.Context()))
				clock.Advance(store.ClockEvery)
				seen = d.look(clock)
			}
			d.check(d.s.Close())
			clock.Advance(-time.Hour)
			d.s = storetest.Open(t, config)
			for i := range 30 {
				d.project(fmt.Sprint("acme/", i))
				clock.Advance(4 * time.Minute)
				d.missesNothing(seen)
			}
			now := d.look(clock)
			clock.Advance(10 * time.Minute)
			d.project("acme/last")
			if version, err := d.versionAt(now.at.Add(2 * time.Minute)); err != nil || version != now.version {
				t.Errorf("once the clock is there again: since %d, %v; want %d", version, err, now.version)
			}
		})
	}
}

// TestWhatIsNotedOfTheClock: what was shown stays noted, however often a server starts, but a
// time that is out of reach; and where nobody read nothing is written.
func TestWhatIsNotedOfTheClock(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			clock := storetest.NewClock()
			config := storetest.Database(t, engine, clock)
			d := newTenant(t, storetest.Open(t, config))
			noted := func() string {
				t.Helper()
				text, err := d.s.StoredSetting(t.Context(), "clock shown")
				d.check(err)
				return string(text)
			}
			keep := func(look bool) string {
				t.Helper()
				if look {
					d.look(clock)
				}
				d.check(d.s.KeepClock(t.Context()))
				return noted()
			}
			first := keep(true)
			clock.Advance(time.Hour)
			same(t, "nobody read", keep(false), first)
			second := keep(true)
			if second <= first {
				t.Errorf("noted %s, then %s", first, second)
			}
			for range 5 {
				d.check(d.s.Close())
				d.s = storetest.Open(t, config)
				same(t, "started again", keep(true), second)
			}
			clock.Advance(-30 * time.Minute)
			same(t, "a clock that was set back", keep(true), second)
			clock.Advance(20 * 365 * 24 * time.Hour)
			ahead := keep(true)
			clock.Advance(-20 * 365 * 24 * time.Hour)
			if back := keep(true); back >= ahead {
				t.Errorf("a clock that was years ahead keeps %s", back)
			}
		})
	}
}
