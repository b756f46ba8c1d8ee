package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/storetest"
)

// versionAt is the version that a time stands for, and whether the feed knows it.
func (d tenant) versionAt(t time.Time) (version int64, err error) {
	d.t.Helper()
	d.view(func(ctx context.Context, tx *store.Tx) error {
		version, err = tx.VersionAt(ctx, t)
		return nil
	})
	return version, err
}

// TestVersionOfATime: what was committed since a time came after the version that it stands
// for, whatever the clock did, and no more than some minutes before come with it.
func TestVersionOfATime(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			clock := storetest.NewClock()
			s := storetest.Open(t, storetest.Database(t, engine, clock))
			d := newTenant(t, s)
			type commit struct {
				at            time.Time
				before, after int64
			}
			var commits []commit
			for i, step := range []time.Duration{0, time.Second, time.Hour, 59 * time.Second, time.Second, 10 * time.Minute, -5 * time.Minute, time.Second, 2 * time.Minute, time.Hour} {
				clock.Advance(step)
				c := commit{clock.Now(), d.version(), 0}
				d.project(fmt.Sprint("acme/", i))
				c.after = d.version()
				commits = append(commits, c)
			}
			for _, since := range commits {
				version, err := d.versionAt(since.at)
				d.check(err)
				for _, c := range commits {
					switch {
					case !c.at.Before(since.at) && c.after <= version:
						t.Errorf("since %v: the commit of %v is not told", since.at, c.at)
					case c.at.Before(since.at.Add(-7*time.Minute)) && c.after > version:
						t.Errorf("since %v: the commit of %v is told", since.at, c.at)
					}
				}
			}
			newest := commits[len(commits)-1]
			if version, err := d.versionAt(newest.at.Add(2*time.Minute + time.Second)); err != nil || version != newest.after {
				t.Errorf("after the last commit: %d, %v; want %d", version, err, newest.after)
			}
			if version, err := d.versionAt(commits[0].at.Add(-time.Hour)); err != nil || version != 0 {
				t.Errorf("before the first commit: %d, %v; want 0", version, err)
			}

			d.check(s.PruneChanges(t.Context(), d.id, 2))
			for i, c := range commits {
				version, err := d.versionAt(c.at)
				if i < len(commits)-2 {
					fails(t, "a time that the feed was pruned past", err, redoubt.ErrConflict)
				} else if i == len(commits)-1 && (err != nil || version != c.before) {
					t.Errorf("the last commit: %d, %v; want %d", version, err, c.before)
				}
			}
			if version, err := d.noise().versionAt(commits[0].at); err != nil || version > d.noise().version() {
				t.Errorf("another deployment: %d, %v", version, err)
			}
		})
	}
}

// TestOneTimeAMinute: commits without end leave a row a minute.
func TestOneTimeAMinute(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			clock := storetest.NewClock()
			s := storetest.Open(t, storetest.Database(t, engine, clock))
			d := newTenant(t, s)
			clock.Advance(time.Hour)
			began := clock.Now()
			seen := map[int64]bool{}
			for i := range 100 {
				d.project(fmt.Sprint("acme/", i))
				clock.Advance(2 * time.Second)
			}
			for second := range 200 {
				version, err := d.versionAt(began.Add(2*time.Minute + time.Duration(second)*time.Second))
				d.check(err)
				seen[version] = true
			}
			if len(seen) > 5 || len(seen) < 3 {
				t.Errorf("in 200 seconds there were times of %d versions", len(seen))
			}
		})
	}
}
