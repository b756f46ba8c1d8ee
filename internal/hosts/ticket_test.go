package hosts_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/hosts"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/queue"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
	"github.com/redoubt/redoubt/internal/ticket"
)

// tickets are the issues of a fake host, by number from 1.
type tickets struct {
	drafts    []scm.Draft
	closed    map[int]bool
	lost      bool             // the response to a creation is lost
	requested []string         // keys of the requested issues
	failures  map[string]error // errors of requests for an issue, by key
	search    error            // error of searches
}

func (h *fakeHost) Repository(_ context.Context, hostID string) (model.Repository, error) {
	for _, r := range h.repositories {
		if r.HostID == hostID {
			return r, h.down
		}
	}
	return model.Repository{}, &scm.HostError{Status: http.StatusNotFound}
}

func (h *fakeHost) at(n int) scm.Ticket {
	return scm.Ticket{Key: fmt.Sprint(n), Slug: fmt.Sprint("acme/payments#", n), URL: fmt.Sprint("https://git.example/acme/payments/issues/", n), Closed: h.issues.closed[n]}
}

func (h *fakeHost) CreateTicket(_ context.Context, _ string, d scm.Draft) (scm.Ticket, error) {
	if h.down != nil {
		return scm.Ticket{}, h.down
	}
	h.issues.drafts = append(h.issues.drafts, d)
	if h.issues.lost {
		return scm.Ticket{}, model.ErrUnavailable
	}
	return h.at(len(h.issues.drafts)), nil
}

func (h *fakeHost) FindTicket(_ context.Context, _, marker string, _ time.Time) (scm.Ticket, bool, error) {
	if err := cmp.Or(h.down, h.issues.search); err != nil {
		return scm.Ticket{}, false, err
	}
	for i, d := range h.issues.drafts {
		if strings.Contains(d.Markdown, marker) {
			return h.at(i + 1), true, nil
		}
	}
	return scm.Ticket{}, false, nil
}

func (h *fakeHost) Ticket(_ context.Context, _, key string) (scm.Ticket, error) {
	h.issues.requested = append(h.issues.requested, key)
	if err := cmp.Or(h.down, h.issues.failures[key]); err != nil {
		return scm.Ticket{}, err
	}
	for i := range h.issues.drafts {
		if fmt.Sprint(i+1) == key {
			return h.at(i + 1), nil
		}
	}
	return scm.Ticket{}, model.ErrNotFound
}

// requestTicket requests a ticket about findings, and returns its id and the job that creates it.
func (w *world) requestTicket(f ...model.Finding) (id int64, j model.Job) {
	w.t.Helper()
	w.update(func(ctx context.Context, tx *store.Tx) error {
		if err := tx.PutTicketSetting(ctx, model.TicketSetting{Public: true, Labels: []string{"security"}}); err != nil {
			return err
		}
		out, err := ticket.Submit(ctx, tx, ticket.Request{Findings: f, Group: true})
		if err == nil && len(out.Requested) != 1 {
			err = fmt.Errorf("it comes to %+v", out)
		}
		if err == nil {
			id = out.Requested[0].TicketID
		}
		return err
	})
	claimed, err := storetest.Claim(w.t.Context(), w.s, time.Minute, store.TicketJob)
	if err != nil || claimed == nil {
		w.t.Fatalf("it is not created: %v", err)
	}
	return id, *claimed
}

func (w *world) ticket(id int64) (t model.Ticket) {
	w.t.Helper()
	w.view(func(ctx context.Context, tx *store.Tx) (err error) {
		t, err = tx.Ticket(ctx, id)
		return err
	})
	return t
}

func (w *world) shownTicket(f model.Finding) (t *model.ExternalTicket) {
	w.t.Helper()
	w.view(func(ctx context.Context, tx *store.Tx) error {
		found, err := tx.Lineages(ctx, []int64{f.LineageID})
		t = found[f.LineageID].Annotations.ExternalTicket
		return err
	})
	return t
}

func TestTicketsAreCreatedOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		w.connect()
		a, b := w.find("rule.a", 3), w.find("rule.a", 9)
		id, j := w.requestTicket(a, b)
		w.host.issues.lost = true
		if _, _, err := queue.Do(w.keeper.CreateTicket)(t.Context(), j); err == nil {
			t.Fatal("an answer that is lost is taken for one")
		}
		if got := w.ticket(id); got.State != model.TicketRequested || got.Problem == "" || w.shownTicket(a) != nil {
			t.Errorf("then it is %+v", got)
		}
		for range 2 { // as after a crash, and then once more
			_, _, err := queue.Do(w.keeper.CreateTicket)(t.Context(), j)
			w.must(err)
		}
		same(t, "issues at the host", len(w.host.issues.drafts), 1)
		got := w.ticket(id)
		if got.State != model.TicketOpen || got.Slug != "acme/payments#1" || got.Problem != "" || got.Key != "1" {
			t.Errorf("the ticket is %+v", got)
		}
		same(t, "what the finding shows", *w.shownTicket(b), model.ExternalTicket{ExternalSlug: got.Slug, ID: id, LinkedIssueIDs: []int64{a.ID, b.ID}, URL: got.URL})
		w.view(func(ctx context.Context, tx *store.Tx) error {
			trail, err := tx.TriageTrail(ctx, a.LineageID)
			if len(trail) != 1 || trail[0].By.Name != storetest.Actor.Name || !strings.Contains(trail[0].Note, "acme/payments#1") {
				t.Errorf("the history tells %+v", trail)
			}
			return err
		})
		d := w.host.issues.drafts[0]
		same(t, "title", d.Title, "[high] rule.a in a.go:3 and 1 more")
		same(t, "labels", d.Labels, []string{"security"})
		for _, want := range []string{"**Rule:** `rule.a`", "**Severity:** high", "**Project:** `acme/payments`", "**Where:** [`a.go:3 (fix)`](https://redoubt.example/orgs/" + w.d.Slug + "/findings/", `\[off\]\(x\)`, "<!-- " + got.Marker + " -->"} {
			if !strings.Contains(d.Markdown, want) {
				t.Errorf("it does not say %q:\n%s", want, d.Markdown)
			}
		}
	})
}

func TestTicketCreationErrors(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		w.connect()
		for name, c := range map[string]struct {
			down    error
			attempt int
			state   model.TicketState
			ends    bool
		}{
			"refused":             {&scm.HostError{Status: http.StatusForbidden}, 1, model.TicketFailed, true},
			"issues are off":      {&scm.HostError{Status: http.StatusGone, Text: "Issues are disabled"}, 1, model.TicketFailed, true},
			"down":                {model.ErrUnavailable, 1, model.TicketRequested, false},
			"busy":                {&model.BusyError{Text: "wait"}, 3, model.TicketRequested, false},
			"down for the last":   {model.ErrUnavailable, hosts.TicketAttempts, model.TicketFailed, true},
			"it keeps no tickets": {scm.ErrUnsupported, 1, model.TicketFailed, true},
		} {
			t.Run(name, func(t *testing.T) {
				w.host.down, w.now = nil, storetest.Epoch.Add(time.Hour)
				id, j := w.requestTicket(w.find("rule.a", 3))
				w.host.down, j.Attempt = c.down, c.attempt
				_, _, err := queue.Do(w.keeper.CreateTicket)(t.Context(), j)
				_, ends := errors.AsType[queue.PermanentError](err)
				if got := w.ticket(id); err == nil || ends != c.ends || got.State != c.state || got.Problem == "" {
					t.Errorf("it is %+v, and the job's error %v", got, err)
				}
				if err := w.keeper.TicketAbandoned(t.Context(), j, "cut off"); err != nil {
					t.Error(err)
				}
				same(t, "abandoned", w.ticket(id).State, model.TicketFailed)
				w.must(s.FailJob(t.Context(), j, "x"))
			})
		}
	})
}

func TestDeletedTicketIsNotCreated(t *testing.T) {
	w := newWorld(t, storetest.New(t, "sqlite"))
	w.connect()
	id, j := w.requestTicket(w.find("rule.a", 3))
	w.update(func(ctx context.Context, tx *store.Tx) error {
		_, err := ticket.Delete(ctx, tx, id)
		return err
	})
	_, _, err := queue.Do(w.keeper.CreateTicket)(t.Context(), j)
	w.must(err)
	same(t, "issues at the host", len(w.host.issues.drafts), 0)
}

func TestTicketStatesAreSynchronized(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		c := w.connect()
		f := w.find("rule.a", 3)
		id, j := w.requestTicket(f)
		_, _, err := queue.Do(w.keeper.CreateTicket)(t.Context(), j)
		w.must(err)
		by := w.find("rule.b", 5)
		var linked ticket.Linked
		w.update(func(ctx context.Context, tx *store.Tx) error {
			linked, err = ticket.Link(ctx, tx, ticket.Target{URL: "https://git.example/acme/payments/issues/99"}, []model.Finding{by})
			return err
		})
		w.host.issues.closed = map[int]bool{1: true}
		w.must(w.keeper.FollowTickets(t.Context(), w.d, c, storetest.Epoch.Add(365*24*time.Hour)))
		same(t, "closed", w.ticket(id).State, model.TicketClosed)
		if got := w.ticket(linked.Ticket.ID); got.State != model.TicketUnknown || got.Problem == "" {
			t.Errorf("one that is not there is %+v", got)
		}
		w.view(func(ctx context.Context, tx *store.Tx) error {
			found, err := tx.Finding(ctx, f.ID)
			same(t, "the finding stays", found.State, model.Unresolved)
			return err
		})
		w.host.issues.closed = nil
		w.must(w.keeper.FollowTickets(t.Context(), w.d, c, storetest.Epoch))
		same(t, "asked for just now, it is not asked for again", w.ticket(id).State, model.TicketClosed)
		w.must(w.keeper.FollowTickets(t.Context(), w.d, c, storetest.Epoch.Add(365*24*time.Hour)))
		same(t, "opened again", w.ticket(id).State, model.TicketOpen)
	})
}

// TestTicketCreationRechecksRepository changes a repository between the request of a ticket and its creation.
func TestTicketCreationRechecksRepository(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		w.host.repositories[0].Private = true
		private := w.host.repositories[0]
		w.connect()
		for name, c := range map[string]struct {
			now     func(*model.Repository)
			allowed bool
			want    string // the problem; empty: the ticket is created
		}{
			"still private":        {func(*model.Repository) {}, false, ""},
			"public, and allowed":  {func(r *model.Repository) { r.Private = false }, true, ""},
			"public by now":        {func(r *model.Repository) { r.Private = false }, false, "are public"},
			"another has its name": {func(r *model.Repository) { r.FullName = "acme/renamed" }, false, "renamed to acme/renamed"},
			"gone":                 {func(r *model.Repository) { r.HostID = "77" }, false, "not found at the host"},
		} {
			w.host.repositories[0], w.host.issues.drafts = private, nil
			id, j := w.requestTicket(w.find("rule.a", 3))
			w.update(func(ctx context.Context, tx *store.Tx) error {
				return tx.PutTicketSetting(ctx, model.TicketSetting{Public: c.allowed})
			})
			c.now(&w.host.repositories[0])
			_, _, err := queue.Do(w.keeper.CreateTicket)(t.Context(), j)
			got := w.ticket(id)
			_, ends := errors.AsType[queue.PermanentError](err)
			switch made := len(w.host.issues.drafts) == 1; {
			case c.want == "" && (err != nil || !made || got.State != model.TicketOpen):
				t.Errorf("%s: %v, %+v", name, err, got)
			case c.want != "" && (!ends || made || got.State != model.TicketFailed || !strings.Contains(got.Problem, c.want)):
				t.Errorf("%s: %v, %+v", name, err, got)
			}
			w.must(w.s.FailJob(t.Context(), j, "x"))
		}
	})
}

// TestFailedSearchCreatesNoTicket checks that a failed search is not treated as an empty result.
func TestFailedSearchCreatesNoTicket(t *testing.T) {
	w := newWorld(t, storetest.New(t, "sqlite"))
	w.connect()
	for status, state := range map[int]model.TicketState{
		http.StatusNotFound: model.TicketFailed, http.StatusGone: model.TicketFailed, http.StatusBadGateway: model.TicketRequested,
	} {
		id, j := w.requestTicket(w.find("rule.a", 3))
		w.host.issues.search = &scm.HostError{Status: status}
		if _, _, err := queue.Do(w.keeper.CreateTicket)(t.Context(), j); err == nil || w.ticket(id).State != state {
			t.Errorf("%d: %v, %+v", status, err, w.ticket(id))
		}
		w.must(w.s.FailJob(t.Context(), j, "x"))
	}
	same(t, "issues at the host", len(w.host.issues.drafts), 0)
}

// TestTicketsWaitForBusyHost checks that tickets wait for a busy host, but only for a limited
// time.
func TestTicketsWaitForBusyHost(t *testing.T) {
	w := newWorld(t, storetest.New(t, "sqlite"))
	w.now = storetest.Epoch.Add(time.Hour)
	w.connect()
	id, j := w.requestTicket(w.find("rule.a", 3))
	w.host.down = &model.BusyError{Text: "wait", Wait: 30 * 24 * time.Hour}
	_, _, err := queue.Do(w.keeper.CreateTicket)(t.Context(), j)
	if wait, is := errors.AsType[queue.WaitError](err); !is || wait.Wait == 0 {
		t.Fatalf("it does not wait: %v", err)
	}
	same(t, "while it waits", w.ticket(id).State, model.TicketRequested)
	w.now = w.now.Add(24 * time.Hour)
	if _, _, err := queue.Do(w.keeper.CreateTicket)(t.Context(), j); err == nil || w.ticket(id).State != model.TicketFailed {
		t.Errorf("after a day: %v, %+v", err, w.ticket(id))
	}
}

func TestFailedTicketDoesNotBlockOthers(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		c := w.connect()
		var last model.Ticket
		for n := range 9 {
			f := w.find("rule.a", 3)
			w.update(func(ctx context.Context, tx *store.Tx) error {
				linked, err := ticket.Link(ctx, tx, ticket.Target{URL: fmt.Sprint("https://git.example/acme/payments/issues/", n+1)}, []model.Finding{f})
				last = linked.Ticket
				return err
			})
			w.host.issues.drafts = append(w.host.issues.drafts, scm.Draft{})
		}
		later := storetest.Epoch.Add(365 * 24 * time.Hour)
		w.host.issues.failures = map[string]error{"1": model.ErrUnavailable, "2": errors.New("it answers something else")}
		w.must(w.keeper.FollowTickets(t.Context(), w.d, c, later))
		same(t, "behind two that are odd", w.ticket(last.ID).State, model.TicketOpen)

		w.host.down, w.host.issues.requested = model.ErrUnavailable, nil
		if err := w.keeper.FollowTickets(t.Context(), w.d, c, later); !errors.Is(err, model.ErrUnavailable) {
			t.Errorf("of a host that is down: %v", err)
		}
		if n := len(w.host.issues.requested); n == 0 || n >= 9 {
			t.Errorf("a host that is down is asked %d times", n)
		}
		w.host.down, w.host.issues.requested = &model.BusyError{Text: "wait"}, nil
		if err := w.keeper.FollowTickets(t.Context(), w.d, c, later); err == nil || len(w.host.issues.requested) != 1 {
			t.Errorf("of a host that asks to wait: %v, asked %d times", err, len(w.host.issues.requested))
		}
	})
}
