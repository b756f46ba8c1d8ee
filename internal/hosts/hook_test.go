package hosts_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// hook creates webhooks for an address. The host refuses one of the two repositories.
func (w *world) hook(c model.Connection, address string) {
	w.t.Helper()
	w.keeper.HookURL = address
	n, err := w.made(c)
	if n != 1 || err == nil || !strings.Contains(err.Error(), "acme/web") || strings.Contains(err.Error(), "acme/payments") {
		w.t.Errorf("%d hooks, %v", n, err)
	}
}

// made creates webhooks for the current address. err includes the refusals of the host.
func (w *world) made(c model.Connection) (n int, err error) {
	w.t.Helper()
	n, refused, err := w.keeper.Hook(w.t.Context(), w.d.ID, storetest.Actor, c.ID, 0)
	return n, errors.Join(refused, err)
}

// hookPath returns the path of webhooks of a connection.
func (w *world) hookPath(c model.Connection) string {
	return fmt.Sprintf("/api/webhooks/%d/%d", w.d.ID, c.ID)
}

func TestWebhooksAreCreatedOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		c := w.connect()
		for range 2 {
			w.hook(c, "https://redoubt.example")
		}
		same(t, "where hosts tell", w.host.hooks, []string{"https://redoubt.example" + w.hookPath(c)})
		w.must(w.keeper.Remove(t.Context(), w.d.ID, storetest.Actor, c.ID))
		same(t, "removed at the host", w.host.hooks[1:], []string{"41"})
	})
}

// TestServerWithoutAddressCreatesNoWebhooks checks that a server without an address creates no
// webhooks. Those it created before remain.
func TestServerWithoutAddressCreatesNoWebhooks(t *testing.T) {
	w := newWorld(t, storetest.New(t, "sqlite"))
	c := w.connect()
	w.hook(c, "https://redoubt.example/")
	before := slices.Clone(w.host.hooked)
	same(t, "where the host tells", before, []scm.Hook{{ID: "41", Address: "https://redoubt.example" + w.hookPath(c)}})

	w.keeper.HookURL = ""
	n, refused, err := w.keeper.Hook(t.Context(), w.d.ID, storetest.Actor, c.ID, 0)
	if n != 0 || refused != nil || !errors.Is(err, model.ErrConflict) || !strings.Contains(err.Error(), "--public-url (REDOUBT_PUBLIC_URL)") {
		t.Errorf("%d hooks, %v, %v", n, refused, err)
	}
	same(t, "the host's hooks", w.host.hooked, before)
	same(t, "the one that is known", w.repository(c).HookID, "41")
}

// TestUnknownOwnWebhooksAreRemoved checks that unknown webhooks with our address are removed. Those of
// others stay.
func TestUnknownOwnWebhooksAreRemoved(t *testing.T) {
	w := newWorld(t, storetest.New(t, "sqlite"))
	c := w.connect()
	ours, foreign := "https://redoubt.example"+w.hookPath(c), scm.Hook{ID: "7", Address: "https://other.example" + w.hookPath(c)}
	w.host.hooked = []scm.Hook{foreign}

	w.host.lost = errors.New("the answer was lost")
	w.keeper.HookURL = "https://redoubt.example"
	if n, err := w.made(c); n != 0 || err == nil {
		t.Fatalf("%d hooks, %v", n, err)
	}
	same(t, "made, and not known", w.host.hooked[1:], []scm.Hook{{ID: "41", Address: ours}})
	w.host.lost = nil
	w.hook(c, "https://redoubt.example")
	same(t, "in place of it", w.host.hooked, []scm.Hook{foreign, {ID: "43", Address: ours}})
	same(t, "the one that is known", w.repository(c).HookID, "43")

	w.host.hooked = append(w.host.hooked, scm.Hook{ID: "90", Address: ours})
	w.hook(c, "https://redoubt.example")
	same(t, "beside one that is known", w.host.hooked, []scm.Hook{foreign, {ID: "43", Address: ours}})

	w.host.lost = errors.New("the answer was lost")
	w.keeper.HookURL = "https://moved.example"
	if n, err := w.made(c); n != 0 || err == nil {
		t.Fatalf("%d hooks, %v", n, err)
	}
	same(t, "the old one is gone, and no other is known", w.repository(c).HookID, "")
	w.host.lost = nil
	w.hook(c, "https://moved.example")
	moved := "https://moved.example" + w.hookPath(c)
	same(t, "where the server is now", w.host.hooked, []scm.Hook{foreign, {ID: w.repository(c).HookID, Address: moved}})

	w.host.hooked = []scm.Hook{foreign}
	w.hook(c, "https://moved.example")
	same(t, "after it was removed there", w.host.hooked, []scm.Hook{foreign, {ID: w.repository(c).HookID, Address: moved}})
}

// TestRecreateWebhook checks that the webhook of one repository is created again. One with the address
// of another server stays at the host.
func TestRecreateWebhook(t *testing.T) {
	const ours, foreign = "https://redoubt.example", "https://other.example"
	for _, step := range []struct {
		what     string
		existing scm.Hook // our webhook at the host; no id: none
		was      string   // the address that it was created for
		stays    bool     // at the host
		remakes  bool
	}{
		{"it works", scm.Hook{ID: "41", Address: ours}, ours, true, false},
		{"it lacks events", scm.Hook{ID: "41", Address: ours, Lacks: "push"}, ours, false, true},
		{"it is switched off", scm.Hook{ID: "41", Address: ours, Off: true}, ours, false, true},
		{"it is gone", scm.Hook{}, ours, false, true},
		{"its address was changed", scm.Hook{ID: "41", Address: foreign}, ours, true, true},
		{"it is another server's", scm.Hook{ID: "41", Address: foreign, Lacks: "push"}, foreign, true, true},
	} {
		t.Run(step.what, func(t *testing.T) {
			storetest.Each(t, func(t *testing.T, s *store.Store) {
				w := newWorld(t, s)
				c := w.connect()
				w.hook(c, step.was)
				w.host.hooked = nil
				var want []scm.Hook
				if hook := step.existing; hook.ID != "" {
					hook.Address += w.hookPath(c)
					w.host.hooked = []scm.Hook{hook}
					if step.stays {
						want = append(want, hook)
					}
				}
				w.keeper.HookURL = ours
				check := func() {
					t.Helper()
					_, err := w.keeper.Check(t.Context(), w.d.ID, storetest.Actor, c.ID)
					w.must(err)
				}
				check()
				r := w.repository(c)
				same(t, "broken", r.HookProblem(w.now) != "", step.remakes)
				if n, refused, err := w.keeper.Hook(t.Context(), w.d.ID, storetest.Actor, c.ID, r.ID); n != 1 || refused != nil || err != nil {
					t.Fatalf("%d hooks, %v, %v", n, refused, err)
				}
				r = w.repository(c)
				if step.remakes {
					want = append(want, scm.Hook{ID: r.HookID, Address: ours + w.hookPath(c)})
				}
				same(t, "at the host", w.host.hooked, want)
				check()
				same(t, "hook problem", w.repository(c).HookProblem(w.now), "")
			})
		})
	}
}

// TestRecreateWebhookOfUnknownRepository checks repositories of other connections or without a project.
func TestRecreateWebhookOfUnknownRepository(t *testing.T) {
	w := newWorld(t, storetest.New(t, "sqlite"))
	c := w.connect()
	w.keeper.HookURL = "https://redoubt.example"
	var other model.Repository
	w.view(func(ctx context.Context, tx *store.Tx) (err error) {
		other, err = tx.RepositoryByHostID(ctx, c.ID, "3")
		return err
	})
	for _, id := range []int64{other.ID, 1 << 40} {
		if n, refused, err := w.keeper.Hook(t.Context(), w.d.ID, storetest.Actor, c.ID, id); n != 0 || refused != nil || !errors.Is(err, model.ErrNotFound) {
			t.Errorf("%d hooks, %v, %v", n, refused, err)
		}
	}
	same(t, "at the host", len(w.host.hooked), 0)
}

// newHookWorld returns a world in which the webhook of acme/payments reported a push and the repository
// was polled, all at the time of clock.
func newHookWorld(t *testing.T, engine string) (w *world, c model.Connection, clock *storetest.Clock, push func(commit string)) {
	t.Helper()
	clock = storetest.NewClock()
	clock.Advance(24 * time.Hour)
	w = newWorld(t, storetest.Open(t, storetest.Database(t, engine, clock)))
	w.keeper.Clock = clock.Now
	w.scanOnPush()
	c = w.connect()
	w.hook(c, "https://redoubt.example")
	secret, err := w.keeper.Vault.OpenWebhook(w.d.ID, c)
	w.must(err)
	push = func(commit string) {
		t.Helper()
		w.must(w.send(w.d.ID, c.ID, secret, "push", pushTo(1, "trunk", commit)))
	}
	w.host.heads = map[string]string{"trunk": first}
	clock.Advance(time.Minute)
	push(first)
	w.must(w.keeper.Poll(t.Context(), w.d.ID, c))
	return w, c, clock, push
}

// knownInProblem matches the names and numbers in the text of a webhook's problem.
var knownInProblem = regexp.MustCompile(`acme/payments|\b(trunk|[0-9a-f]{12}|\d+)\b`)

// silent describes the event source of a connection and how often acme/payments is polled.
func (w *world) silent(c model.Connection, clock *storetest.Clock) (description string) {
	w.t.Helper()
	w.view(func(ctx context.Context, tx *store.Tx) error {
		counts, err := tx.CountRepositories(ctx)
		n := counts[c.ID]
		list, err2 := tx.RepositoriesToPoll(ctx, c.ID, clock.Now(), clock.Now().Add(-time.Hour), 9)
		frequency := "hourly"
		for _, r := range list {
			if r.FullName == "acme/payments" {
				frequency = "soon"
			}
		}
		description = strings.TrimSpace(fmt.Sprintf("%s, asked %s. %s", n.EventSource(), frequency, strings.Join(knownInProblem.FindAllString(n.HookProblem, -1), " ")))
		return errors.Join(err, err2)
	})
	return description
}

// TestMissedWebhookEventsAreDetected checks that a webhook is distrusted if polling finds a push or a
// change request that it did not report within minutes. It is trusted again once it reports one.
func TestMissedWebhookEventsAreDetected(t *testing.T) {
	const well, fourth, fifth = "webhook, asked hourly.", "4444444444444444444444444444444444444444", "5555555555555555555555555555555555555555"
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			w, c, clock, push := newHookWorld(t, engine)
			same(t, "at first", w.silent(c, clock), well)
			step := func(what string, later time.Duration, do func(), want string) {
				t.Helper()
				clock.Advance(later)
				do()
				same(t, what, w.silent(c, clock), want)
			}
			polled := func() { t.Helper(); w.must(w.keeper.Poll(t.Context(), w.d.ID, c)) }
			nothing := func() {}

			step("an hour later, nothing being new", 50*time.Minute, nothing, well)
			w.host.heads["trunk"] = second
			step("a push that is found an hour after the last", 11*time.Minute, polled, well)
			step("told soon afterwards", time.Minute, func() { push(second) }, well)
			step("which is heard", 10*time.Minute, nothing, well)

			w.host.heads["trunk"] = third
			step("another", 51*time.Minute, polled, well)
			step("without a webhook", 6*time.Minute, nothing, "polling, asked soon. acme/payments 333333333333 trunk")
			w.host.open = []model.ChangeRequest{{Number: 7, State: model.ChangeOpen, HeadCommit: fifth}}
			step("nor of a change request", 6*time.Minute, polled, "polling, asked soon. acme/payments 7 555555555555")
			step("until one comes", time.Minute, func() { push(fourth) }, well)

			w.host.open[0].HeadCommit = second
			step("reported by an earlier push of that commit", 62*time.Minute, polled, well)
			step("nothing is missed", 10*time.Minute, nothing, well)
			w.host.open[0].HeadCommit = third
			step("of another head", 51*time.Minute, polled, well)
			step("it is", 6*time.Minute, nothing, "polling, asked soon. acme/payments 7 333333333333")
			before := w.repository(c).HookID
			step("until it is made again", 0, func() { w.hook(c, "https://redoubt.example") }, "polling, asked soon.")
			if after := w.repository(c).HookID; after == before || len(w.host.hooked) != 1 {
				t.Errorf("it is still %s of %v", after, w.host.hooked)
			}
			w.host.heads["trunk"] = first
			step("earlier push", 0, polled, "polling, asked soon.")
			step("is nothing that it was to tell", time.Hour, nothing, "polling, asked soon.")
		})
	}
}
