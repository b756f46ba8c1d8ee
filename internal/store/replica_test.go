package store_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/storetest"
)

// replicated is a store whose feed comes from a standby that streams what it commits.
type replicated struct {
	tenant
	pair    *storetest.Pair
	replica *store.Replica
	made    int
}

func newReplicated(t *testing.T) *replicated {
	t.Helper()
	r := &replicated{pair: storetest.NewPair(t)}
	s, err := store.Open(t.Context(), r.pair.Database())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	r.tenant = newTenant(t, s)
	if r.replica, err = store.NewReplica(s, r.pair.Standby().DatabaseURL, time.Second, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.replica.Close() })
	return r
}

// commit makes a project, and returns the version of that.
func (r *replicated) commit() int64 {
	r.made++
	r.project(fmt.Sprint("acme/", r.made))
	version, err := r.replica.Version(r.t.Context(), r.id)
	r.check(err)
	return version
}

// follow reads what changed since a version, which must hold the last commit, and
// returns the version and which of the two databases was read.
func (r *replicated) follow(since int64) (version int64, from string) {
	r.t.Helper()
	newest := r.commit()
	replica, primary := r.replica.Fed()
	projects := map[string]bool{}
	version, stale, err := r.replica.Feed(r.t.Context(), r.id, since, func(b *redoubt.Batch) error {
		for _, p := range b.Projects {
			projects[p.Name] = true
		}
		return nil
	})
	if err != nil || stale || version != newest || !projects[fmt.Sprint("acme/", r.made)] {
		r.t.Fatalf("since %d: version %d, not %d, stale %v, %v, %v", since, version, newest, stale, projects, err)
	}
	switch after, beside := r.replica.Fed(); {
	case after == replica+1 && beside == primary:
		return version, "replica"
	case after == replica && beside == primary+1:
		return version, "primary"
	}
	r.t.Fatal("not one of the two was read")
	return 0, ""
}

func (r *replicated) reads(from string, since int64) int64 {
	r.t.Helper()
	version, read := r.follow(since)
	if read != from {
		r.t.Fatalf("the %s was read, not the %s", read, from)
	}
	return version
}

// The feed comes from the standby and has each commit that was acknowledged; where the
// standby is behind, cut off or gone, it comes from the primary.
func TestReplica(t *testing.T) {
	r := newReplicated(t)
	store.SetReplicaTimes(r.replica, time.Minute, 0) // patient: the machine may be busy
	version := r.reads("replica", 0)
	for range 20 {
		version = r.reads("replica", version)
	}

	goOn := r.pair.HoldStandby()
	store.SetReplicaTimes(r.replica, 20*time.Millisecond, time.Hour)
	version = r.reads("primary", version)
	goOn()
	version = r.reads("primary", version) // it rests
	store.EndReplicaRest(r.replica)
	store.SetReplicaTimes(r.replica, time.Minute, 0)
	version = r.reads("replica", version)
	r.reads("replica", 0)

	r.pair.LoseStandby()
	r.reads("primary", version)
	store.EndReplicaRest(r.replica)
	version = r.reads("primary", 0)
	if _, _, err := r.replica.Feed(t.Context(), r.id+1000, 0, nil); !errors.Is(err, redoubt.ErrNotFound) {
		t.Errorf("a deployment that there is not: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	store.EndReplicaRest(r.replica)
	if _, _, err := r.replica.Feed(ctx, r.id, version, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("nobody waits any more: %v", err)
	}
}

// A standby that goes away in the middle of a feed: what it handed over is void, and
// who asks again is answered.
func TestReplicaIsLostMeanwhile(t *testing.T) {
	r := newReplicated(t)
	store.SetReplicaTimes(r.replica, time.Minute, time.Hour)
	r.commit()
	cut := func(*redoubt.Batch) error {
		r.pair.CutStandby()
		return nil
	}
	if _, _, err := r.replica.Feed(t.Context(), r.id, 0, cut); !errors.Is(err, redoubt.ErrReplicaLost) {
		t.Fatalf("the error is %v", err)
	}
	r.reads("primary", 0)

	store.EndReplicaRest(r.replica)
	refused := errors.New("not now")
	if _, _, err := r.replica.Feed(t.Context(), r.id, 0, func(*redoubt.Batch) error { return refused }); !errors.Is(err, refused) || errors.Is(err, redoubt.ErrReplicaLost) {
		t.Errorf("who reads refuses: %v", err)
	}
	r.reads("replica", 0)

	damaged := func(*redoubt.Batch) error { return redoubt.ErrDamaged }
	if _, _, err := r.replica.Feed(t.Context(), r.id, 0, damaged); !errors.Is(err, redoubt.ErrReplicaLost) {
		t.Errorf("what the replica has is damaged: %v", err)
	}
	r.reads("primary", 0)
}

// A database that is no replica of this one, though it has the deployment and more
// commits, is not believed.
func TestReplicaOfAnotherHistory(t *testing.T) {
	open := func() (tenant, string) {
		c := storetest.Database(t, "postgres", storetest.NewClock())
		return newTenant(t, storetest.Open(t, c)), c.DatabaseURL
	}
	d, _ := open()
	other, address := open()
	for i := range 5 {
		other.project(fmt.Sprint("strange/", i))
	}
	replica, err := store.NewReplica(d.s, address, time.Second, slog.New(slog.DiscardHandler))
	d.check(err)
	defer replica.Close()
	store.SetReplicaTimes(replica, 20*time.Millisecond, time.Hour)
	d.project("acme/shop")
	_, _, err = replica.Feed(t.Context(), d.id, 0, func(b *redoubt.Batch) error {
		for _, p := range b.Projects {
			if p.Name != "acme/shop" {
				t.Errorf("project %s", p.Name)
			}
		}
		return nil
	})
	d.check(err)
	if strange, own := replica.Fed(); strange != 0 || own != 1 {
		t.Errorf("fed by %d and %d", strange, own)
	}
}

func TestOnlyPostgresHasAReplica(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	if _, err := store.NewReplica(storetest.New(t, "sqlite"), "postgres://db2/redoubt", 0, log); err == nil {
		t.Error("a SQLite file has a replica")
	}
	if _, err := store.NewReplica(storetest.New(t, "postgres"), "db2 and a secret", 0, log); err == nil {
		t.Error("an address that cannot be read")
	}
}
