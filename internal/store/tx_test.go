package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

func TestCommitClockIsMonotonic(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			clock := storetest.NewClock()
			s := storetest.Open(t, storetest.Database(t, engine, clock))
			d := storetest.Deployment(t, s)
			last := time.Time{}
			for _, step := range []time.Duration{0, 0, time.Second, -time.Hour, 0, 2 * time.Hour, 999 * time.Nanosecond, 0} {
				clock.Advance(step)
				update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
					if !tx.Now().After(last) {
						t.Errorf("after a step of %v the commit's clock is %v, not after %v", step, tx.Now(), last)
					}
					if tx.Now() != tx.Now().Truncate(time.Microsecond) || tx.Now().Location() != time.UTC {
						t.Errorf("the commit's clock is %v, want UTC in whole microseconds", tx.Now())
					}
					last = tx.Now()
					_, err := tx.CreateProject(ctx, model.Project{Name: "acme/p" + tx.Now().Format("150405.000000")})
					return err
				})
				view(t, s, d, func(_ context.Context, tx *store.Tx) error {
					if tx.Now().Before(last) {
						t.Errorf("a reader's clock is %v, before the commit's %v", tx.Now(), last)
					}
					return nil
				})
			}
		})
	}
}

func TestCommitWithVisibleChangesIncrementsVersionOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		for _, c := range []struct {
			what  string
			grows int64
			do    func(context.Context, *store.Tx) error
		}{
			{"two projects", 1, func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.CreateProject(ctx, model.Project{Name: "acme/a"})
				_, err2 := tx.CreateProject(ctx, model.Project{Name: "acme/b"})
				return errors.Join(err, err2)
			}},
			{"a token", 0, func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.CreateToken(ctx, model.Token{PublicID: "x"}, []byte("x"))
				return err
			}},
			{"nothing", 0, func(context.Context, *store.Tx) error { return nil }},
		} {
			before := deployment(t, s, d.Slug).Version
			update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
				if tx.Version() != before {
					t.Errorf("%s: the transaction begins at version %d, want %d", c.what, tx.Version(), before)
				}
				return c.do(ctx, tx)
			})
			if got := deployment(t, s, d.Slug).Version; model.Commits(got) != model.Commits(before)+c.grows || c.grows == 0 && got != before {
				t.Errorf("%s: version %d → %d, want its number to grow by %d", c.what, before, got, c.grows)
			}
		}
	})
}

func TestUpdateIsAtomic(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		before, trail := deployment(t, s, d.Slug), len(events(t, s, d))
		failure := errors.New("changed my mind")
		add := func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.CreateProject(ctx, model.Project{Name: "acme/a"})
			return errors.Join(err, failure)
		}
		fails(t, "an update that fails", s.Update(t.Context(), d.ID, storetest.Actor, add), failure)
		func() {
			defer func() { _ = recover() }()
			_ = s.Update(t.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
				panic(add(ctx, tx))
			})
		}()
		same(t, "the deployment after it", deployment(t, s, d.Slug), before)
		same(t, "the length of the trail after it", len(events(t, s, d)), trail)
		// The connection was released, so the next transaction does not wait.
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.ProjectByName(ctx, "acme/a")
			fails(t, "what it made", err, model.ErrNotFound)
			return nil
		})
	})
}

func TestViewIsReadOnlySnapshot(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		view(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			before, err := tx.Projects(ctx, store.ProjectQuery{})
			if err != nil {
				return err
			}
			update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.CreateProject(ctx, model.Project{Name: "acme/meanwhile"})
				return err
			})
			after, err := tx.Projects(ctx, store.ProjectQuery{})
			same(t, "projects of one view", after, before)
			return err
		})
		err := s.View(t.Context(), d.ID, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE deployment SET name = 'written' WHERE id = $1`)
			return err
		})
		if err == nil {
			t.Error("a view could write")
		}
	})
}

func TestTransactionErrors(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		nothing := func(context.Context, *store.Tx) error { t.Error("it ran"); return nil }
		fails(t, "update of an unknown deployment", s.Update(t.Context(), d.ID+1000, storetest.Actor, nothing), model.ErrNotFound)
		fails(t, "view of an unknown deployment", s.View(t.Context(), d.ID+1000, nothing), model.ErrNotFound)

		gone, cancel := context.WithCancel(t.Context())
		cancel()
		fails(t, "update for a caller who left", s.Update(gone, d.ID, storetest.Actor, nothing), context.Canceled)
		fails(t, "view for a caller who left", s.View(gone, d.ID, nothing), context.Canceled)

		leaving, leave := context.WithCancel(t.Context())
		err := s.Update(leaving, d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			leave()
			_, err := tx.CreateProject(ctx, model.Project{Name: "acme/late"})
			return err
		})
		fails(t, "update for a caller who leaves", err, context.Canceled)
		view(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.ProjectByName(ctx, "acme/late")
			fails(t, "what it made", err, model.ErrNotFound)
			return nil
		})

		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		fails(t, "update of a closed store", s.Update(t.Context(), d.ID, storetest.Actor, nothing), model.ErrUnavailable)
		fails(t, "view of a closed store", s.View(t.Context(), d.ID, nothing), model.ErrUnavailable)
		fails(t, "ping of a closed store", s.Ping(t.Context()), model.ErrUnavailable)
	})
}

func TestLockWaitEndsWithContext(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			config := storetest.Database(t, engine, storetest.NewClock())
			s, another := storetest.Open(t, config), storetest.Open(t, config)
			d := storetest.Deployment(t, s)
			update(t, s, d, func(context.Context, *store.Tx) error {
				for what, behind := range map[string]*store.Store{"of the same process": s, "of another process": another} {
					ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
					defer cancel()
					err := behind.Update(ctx, d.ID, storetest.Actor, func(context.Context, *store.Tx) error { t.Error("two writers at once"); return nil })
					fails(t, "an update behind one "+what, err, context.DeadlineExceeded)
				}
				return nil
			})
		})
	}
}

func TestBrokenConnectionIsUnavailable(t *testing.T) {
	s := storetest.New(t, "postgres")
	d := storetest.Deployment(t, s)
	err := s.Update(t.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.Exec(ctx, `SELECT pg_terminate_backend(pg_backend_pid()) WHERE $1 > 0`)
		return err
	})
	fails(t, "an update whose connection broke", err, model.ErrUnavailable)
	update(t, s, d, func(context.Context, *store.Tx) error { return nil }) // uses a new connection
}

func TestOpenErrors(t *testing.T) {
	clock := storetest.NewClock().Now
	for _, c := range []struct {
		what    string
		config  store.Config
		message string
		hides   string
	}{
		{"no clock", store.Config{Dir: t.TempDir()}, "clock", ""},
		{"nowhere", store.Config{Clock: clock}, "data folder", ""},
		{"no URL", store.Config{Clock: clock, DatabaseURL: "postgres://user:pa%zzss@host/db"}, "postgres://user:password@", "pa%zzss"},
		{"no server", store.Config{Clock: clock, DatabaseURL: "postgres://user:hunter2@/db?host=" + t.TempDir()}, "connect to PostgreSQL", "hunter2"},
	} {
		_, err := store.Open(t.Context(), c.config)
		if err == nil || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s: got %v, want it to say %q", c.what, err, c.message)
		}
		if c.hides != "" && err != nil && strings.Contains(err.Error(), c.hides) {
			t.Errorf("%s: the error shows the password: %v", c.what, err)
		}
	}
}
