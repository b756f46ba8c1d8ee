package hosts_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/redoubt/redoubt/internal/hosts"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// otherServer returns a world of a second server that uses the same host with another address.
func (w *world) otherServer(s *store.Store, address string) *world {
	other := *w
	c := w.keeper.Config
	c.Store, c.HookURL = s, address
	other.s, other.keeper = s, hosts.New(c)
	return &other
}

// elsewhere returns the address of webhooks that the server reports as another server's.
func (w *world) elsewhere(connection int64) (address string) {
	w.t.Helper()
	w.view(func(ctx context.Context, tx *store.Tx) error {
		counts, err := tx.CountRepositories(ctx)
		address = counts[connection].Elsewhere(w.keeper.HooksAt())
		return err
	})
	return address
}

// TestDatabaseCopyPreservesWebhooks checks that a restored copy of the database changes no webhook of the
// original, until an administrator requests webhooks there. Then the original reports them and
// leaves them unchanged.
func TestDatabaseCopyPreservesWebhooks(t *testing.T) {
	const ours, foreign = "https://redoubt.example", "https://staging.example"
	w := newWorld(t, storetest.New(t, "sqlite"))
	c := w.connect()
	w.hook(c, ours)
	path := w.hookPath(c)
	dir := t.TempDir()
	w.must(w.s.Backup(t.Context(), filepath.Join(dir, store.FileName)))
	restored := w.otherServer(storetest.Open(t, store.Config{Dir: dir, Clock: storetest.NewClock().Now}), foreign)
	check := func(w *world) {
		t.Helper()
		for range 2 {
			_, err := w.keeper.Check(t.Context(), w.d.ID, storetest.Actor, c.ID)
			w.must(err)
		}
	}
	before := slices.Clone(w.host.hooked)
	for _, lacks := range []string{"", "push"} { // also if it lacks events
		w.host.hooked[0].Lacks, before[0].Lacks = lacks, lacks
		check(restored)
		same(t, "after the copy looked", w.host.hooked, before)
	}
	same(t, "which it tells", restored.elsewhere(c.ID), ours+path)
	same(t, "and of itself nothing", w.elsewhere(c.ID), "")

	restored.hook(c, foreign)
	same(t, "once a user requests it", w.host.hooked, []scm.Hook{{ID: restored.repository(c).HookID, Address: foreign + path}})
	same(t, "it tells the copy", restored.elsewhere(c.ID), "")
	before = slices.Clone(w.host.hooked)
	check(w)
	same(t, "after the original looked", w.host.hooked, before)
	same(t, "which tells", w.repository(c).HookProblem(w.now), "its webhook at the host no longer exists")
}

// TestDatabaseCopyRemovesOnlyItsWebhooks checks that deleting a connection in a copy removes
// only webhooks with the address of the copy.
func TestDatabaseCopyRemovesOnlyItsWebhooks(t *testing.T) {
	const ours, foreign = "https://redoubt.example", "https://staging.example"
	for _, step := range []struct{ what, server string }{{"at another address", foreign}, {"without a hook", ""}, {"the original", ours}} {
		t.Run(step.what, func(t *testing.T) {
			w := newWorld(t, storetest.New(t, "sqlite"))
			c := w.connect()
			w.hook(c, ours+"/")
			want := slices.Clone(w.host.hooked)
			if step.server == ours {
				want = nil
			}
			w.keeper.HookURL = step.server
			w.must(w.keeper.Remove(t.Context(), w.d.ID, storetest.Actor, c.ID))
			if !slices.Equal(w.host.hooked, want) {
				t.Errorf("the host has %v, want %v", w.host.hooked, want)
			}
		})
	}
}

// TestServersPreserveWebhooksOfOtherAddresses checks servers of one database with different
// addresses, and webhooks that the command line created for another address.
func TestServersPreserveWebhooksOfOtherAddresses(t *testing.T) {
	const first, second = "https://redoubt.example", "https://inside.example"
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		c := w.connect()
		other := w.otherServer(s, second)
		for _, step := range []struct {
			server            *world
			address, reported string // address that the first server reports
		}{{w, first, ""}, {other, second, second + w.hookPath(c)}, {w, first, ""}} {
			step.server.hook(c, step.address)
			before := slices.Clone(w.host.hooked)
			same(t, "made", before, []scm.Hook{{ID: w.repository(c).HookID, Address: step.address + w.hookPath(c)}})
			for _, server := range []*world{w, other, w} {
				_, err := server.keeper.Check(t.Context(), w.d.ID, storetest.Actor, c.ID)
				w.must(err)
			}
			same(t, "after both looked", w.host.hooked, before)
			same(t, "hook problem", w.repository(c).HookProblem(w.now), "")
			same(t, "what the first one says", w.elsewhere(c.ID), step.reported)
		}
	})
}
