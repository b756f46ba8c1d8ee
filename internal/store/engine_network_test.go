package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// behindProxy opens a store on PostgreSQL behind a proxy, with a timeout.
func behindProxy(t *testing.T, limit time.Duration) (*storetest.Proxy, *store.Store, model.Deployment) {
	t.Helper()
	config := storetest.Database(t, "postgres", storetest.NewClock())
	d := storetest.Deployment(t, storetest.Open(t, config))
	proxy, config := storetest.Through(t, config)
	config.Timeout = limit
	return proxy, storetest.Open(t, config), d
}

// works retries until a write and a read succeed: broken connections are detected one by one.
func works(t *testing.T, s *store.Store, d model.Deployment) {
	t.Helper()
	for {
		err := s.PutSetting(t.Context(), "test", []byte("x"))
		if err == nil {
			err = s.View(t.Context(), d.ID, func(context.Context, *store.Tx) error { return nil })
		}
		if err == nil {
			return
		}
		fails(t, "a database that comes back", err, model.ErrUnreachable)
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
}

// TestPostgresConnectionLoss cuts connections during a read, a write and a commit, terminates them
// in PostgreSQL, and rejects new ones.
func TestPostgresConnectionLoss(t *testing.T) {
	proxy, s, d := behindProxy(t, time.Minute)
	inTheMiddle := map[string]func(then func()) error{
		"read": func(then func()) error {
			return s.View(t.Context(), d.ID, func(ctx context.Context, tx *store.Tx) error {
				then()
				_, err := tx.Projects(ctx, store.ProjectQuery{})
				return err
			})
		},
		"write": func(then func()) error {
			return s.Update(t.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
				then()
				_, err := tx.CreateProject(ctx, model.Project{Name: "acme/a"})
				return err
			})
		},
		"commit": func(then func()) error {
			return s.Update(t.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.CreateProject(ctx, model.Project{Name: "acme/b"})
				then()
				return err
			})
		},
	}
	for what, do := range inTheMiddle {
		for how, lose := range map[string]func(){
			"cut":     proxy.Cut,
			"refused": proxy.Refuse,
			"ended":   func() { endBackends(t, s) },
		} {
			fails(t, what+" "+how, do(lose), model.ErrUnreachable)
			proxy.Resume()
			works(t, s, d)
		}
	}
	proxy.Refuse()
	fails(t, "version", second(s.Version(t.Context(), d.ID)), model.ErrUnreachable)
	reads, writes := s.Health(t.Context())
	fails(t, "health of reads", reads, model.ErrUnreachable)
	fails(t, "health of writes", writes, model.ErrUnreachable)
	proxy.Resume()
	works(t, s, d)
	if reads, writes = s.Health(t.Context()); reads != nil || writes != nil {
		t.Errorf("a database that is back is %v, %v", reads, writes)
	}
}

func second[T any](_ T, err error) error { return err }

// endBackends terminates the store's connections in PostgreSQL, as an administrator would.
func endBackends(t *testing.T, s *store.Store) {
	t.Helper()
	if _, err := s.DB().ExecContext(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`); err != nil {
		t.Fatal(err)
	}
}

// TestStalledPostgresTimesOut stalls all connections. Reads, writes, waits for a connection and
// starts must fail.
func TestStalledPostgresTimesOut(t *testing.T) {
	proxy, s, d := behindProxy(t, 400*time.Millisecond)
	err := s.Update(t.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		proxy.Stall()
		_, err := tx.CreateProject(ctx, model.Project{Name: "acme/a"})
		return err
	})
	fails(t, "a write", err, model.ErrUnreachable)
	fails(t, "a read", s.View(t.Context(), d.ID, func(context.Context, *store.Tx) error { return nil }), model.ErrUnreachable)
	fails(t, "a version", second(s.Version(t.Context(), d.ID)), model.ErrUnreachable)
	fails(t, "a ping", s.Ping(t.Context()), model.ErrUnreachable)
	reads, _ := s.Health(t.Context())
	fails(t, "health", reads, model.ErrUnreachable)
	config := storetest.Database(t, "postgres", storetest.NewClock())
	stalled, config := storetest.Through(t, config)
	stalled.Stall()
	config.Timeout = 400 * time.Millisecond
	_, err = store.Open(t.Context(), config)
	fails(t, "a start", err, model.ErrUnreachable)

	proxy.Resume()
	works(t, s, d)
}

// TestLockWaitDoesNotTimeOut locks a deployment for longer than the timeout. PostgreSQL
// responds to probes, so the second writer must wait.
func TestLockWaitDoesNotTimeOut(t *testing.T) {
	const limit = 500 * time.Millisecond // half of it suffices for a connection on a busy machine
	_, s, d := behindProxy(t, limit)
	locked, waited := make(chan struct{}), make(chan error, 1)
	err := s.Update(t.Context(), d.ID, storetest.Actor, func(ctx context.Context, _ *store.Tx) error {
		go func() {
			close(locked)
			waited <- s.Update(t.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.CreateProject(ctx, model.Project{Name: "acme/a"})
				return err
			})
		}()
		<-locked
		select {
		case err := <-waited:
			return errors.Join(errors.New("the second writer did not wait"), err)
		case <-time.After(2 * limit):
			return nil
		}
	})
	if err != nil { // the second writer may not have started
		t.Fatal(err)
	}
	if err := <-waited; err != nil {
		t.Error(err)
	}
}
