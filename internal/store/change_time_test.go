package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// versionAt returns the version for a time and the error of VersionAt.
func (d tenant) versionAt(t time.Time) (version int64, err error) {
	d.t.Helper()
	d.view(func(ctx context.Context, tx *store.Tx) error {
		version, err = tx.VersionAt(ctx, t)
		return nil
	})
	return version, err
}

// TestVersionAtTime checks that all commits since a time follow its version, regardless of the
// clock. At most a few minutes of earlier commits may follow it too.
func TestVersionAtTime(t *testing.T) {
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
						t.Errorf("since %v: the commit of %v is not returned", since.at, c.at)
					case c.at.Before(since.at.Add(-7*time.Minute)) && c.after > version:
						t.Errorf("since %v: the commit of %v is returned", since.at, c.at)
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
					fails(t, "a time that the feed was pruned past", err, model.ErrConflict)
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

// TestVersionAtTimeDuringLongCommit checks that times at which readers read during a long transaction
// map to versions before it.
func TestVersionAtTimeDuringLongCommit(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			clock := storetest.NewClock()
			config := storetest.Database(t, engine, clock)
			d := newTenant(t, storetest.Open(t, config))
			reader := tenant{t, storetest.Open(t, config), d.id}
			d.project("acme/first")
			before := d.version()
			var looked []time.Time
			d.update(func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.ProjectForScan(ctx, nil, model.Project{Name: "acme/slow", Tags: []string{}})
				for range 10 {
					clock.Advance(time.Minute)
					same(t, "the version while it runs", reader.version(), before)
					looked = append(looked, clock.Now())
				}
				return err
			})
			slow := d.version()
			clock.Advance(2 * time.Minute)
			d.project("acme/next")
			for _, at := range looked {
				version, err := reader.versionAt(at)
				d.check(err)
				if version > before {
					t.Errorf("at %v the changes are since %d, not since %d", at, version, before)
				}
			}
			version, err := d.versionAt(clock.Now())
			d.check(err)
			same(t, "two minutes later", version, slow)
		})
	}
}

// TestFeedRowsWithoutTimeAreNewest checks that feed rows without a time count as newer than any time.
func TestFeedRowsWithoutTimeAreNewest(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			clock := storetest.NewClock()
			d := newTenant(t, storetest.Open(t, storetest.Database(t, engine, clock)))
			d.project("acme/payments")
			d.check(d.s.ExecRaw(t.Context(), `UPDATE change SET at = NULL`)) // as after the migration
			clock.Advance(time.Hour)
			version, err := d.versionAt(clock.Now())
			d.check(err)
			same(t, "a time after", version, int64(0))
			d.project("acme/other")
			clock.Advance(time.Hour)
			version, err = d.versionAt(clock.Now())
			d.check(err)
			same(t, "a time after a commit that has one", version, d.version())
			d.check(d.s.PruneChanges(t.Context(), d.id, 1))
			version, err = d.versionAt(clock.Now())
			d.check(err)
			same(t, "the same after others were pruned", version, d.version())
		})
	}
}
