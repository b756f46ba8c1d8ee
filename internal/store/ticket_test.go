package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
	"github.com/redoubt/redoubt/internal/ticket"
)

// written returns findings as stored.
func (d tenant) written(of []model.FindingWrite) (list []model.Finding) {
	d.t.Helper()
	ids := make([]int64, len(of))
	for i, w := range of {
		ids[i] = w.ID
	}
	d.view(func(ctx context.Context, tx *store.Tx) (err error) {
		list, err = tx.FindingsByID(ctx, ids)
		return err
	})
	return list
}

func (d tenant) jira(name string) (c model.Connection) {
	d.t.Helper()
	d.update(func(ctx context.Context, tx *store.Tx) (err error) {
		c, err = tx.AddConnection(ctx, model.Connection{Kind: model.HostJira, Name: name, BaseURL: "https://jira.example"}, sealedFor)
		return err
	})
	return c
}

func (d tenant) link(address string, findings ...model.Finding) (out ticket.Linked) {
	d.t.Helper()
	d.update(func(ctx context.Context, tx *store.Tx) (err error) {
		out, err = ticket.Link(ctx, tx, ticket.Target{URL: address}, findings)
		return err
	})
	return out
}

// requestTickets requests tickets.
func (d tenant) requestTickets(r ticket.Request) (out ticket.Outcome) {
	d.t.Helper()
	d.update(func(ctx context.Context, tx *store.Tx) (err error) {
		out, err = ticket.Submit(ctx, tx, r)
		return err
	})
	return out
}

func (d tenant) ticket(id int64) (t model.Ticket) {
	d.t.Helper()
	d.view(func(ctx context.Context, tx *store.Tx) (err error) {
		t, err = tx.Ticket(ctx, id)
		return err
	})
	return t
}

// shown returns the ticket in the annotations of a lineage, or nil.
func (d tenant) shown(lineage int64) (t *model.ExternalTicket) {
	d.t.Helper()
	d.view(func(ctx context.Context, tx *store.Tx) error {
		found, err := tx.Lineages(ctx, []int64{lineage})
		t = found[lineage].Annotations.ExternalTicket
		return err
	})
	return t
}

const sec1 = "https://tracker.example/browse/SEC-1"

func TestTicketsOutliveProjectsAndConnections(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		first, second := d.project("acme/one"), d.project("acme/two")
		f, g := d.written(d.findings(first, 2, nil)), d.written(d.findings(second, 1, nil))
		c := d.connection("gitea")
		d.assignProject(d.saveRepositories(c, hostRepository("1", "acme/one"))[0])
		linked := d.link("https://git.example/acme/one/issues/5", append(slices.Clone(f), g...)...)
		same(t, "its connection", linked.Ticket.ConnectionID, c.ID)
		same(t, "what the second project's finding tells", d.shown(g[0].LineageID).LinkedIssueIDs, []int64{g[0].ID})
		d.update(func(ctx context.Context, tx *store.Tx) error {
			stale, err := tx.StaleTickets(ctx, c.ID, tx.Now(), 10)
			same(t, "to be asked for", stale, []model.Ticket{linked.Ticket})
			d.check(err)
			return tx.NoteTicketChecked(ctx, linked.Ticket.ID)
		})
		d.view(func(ctx context.Context, tx *store.Tx) error {
			stale, err := tx.StaleTickets(ctx, c.ID, tx.Now().Add(-time.Hour), 10)
			same(t, "asked for just now", len(stale), 0)
			return err
		})
		d.update(func(ctx context.Context, tx *store.Tx) error {
			nothing, err := ticket.Link(ctx, tx, ticket.Target{URL: "https://git.example/acme/one/issues/6"}, f[:1])
			d.check(err)
			_, err = ticket.Link(ctx, tx, ticket.Target{URL: linked.Ticket.URL}, f[:1])
			d.check(err)
			stale, err := tx.StaleTickets(ctx, c.ID, tx.Now(), 10)
			d.check(err)
			same(t, "one about nothing", slices.ContainsFunc(stale, func(t model.Ticket) bool { return t.ID == nothing.Ticket.ID }), false)
			if _, err := tx.Ticket(ctx, nothing.Ticket.ID); !errors.Is(err, model.ErrNotFound) {
				t.Errorf("a ticket that was linked by its address, about nothing: %v", err)
			}
			read := linked.Ticket
			read.State, read.Problem = model.TicketClosed, "odd"
			return tx.UpdateTicket(ctx, read)
		})
		d.update(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteConnection(ctx, c.ID) })
		alone := d.ticket(linked.Ticket.ID)
		same(t, "without its connection", []any{alone.ConnectionID, alone.State, alone.Problem}, []any{int64(0), model.TicketUnknown, ""})
		d.update(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteProject(ctx, first.ID) })
		d.view(func(ctx context.Context, tx *store.Tx) error {
			list, about, more, err := tx.TicketPage(ctx, store.TicketQuery{Limit: 10})
			if len(list) != 1 || more || len(about[list[0].ID]) != 1 || about[list[0].ID][0].FindingID != g[0].ID {
				t.Errorf("without the first project the tickets are %+v about %+v", list, about)
			}
			return err
		})
	})
}

func TestTicketFindingLimit(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		all := d.written(d.findings(d.project("acme/big"), model.MaxTicketFindings+1, nil))
		d.link(sec1, all[:model.MaxTicketFindings]...)
		err := s.Update(t.Context(), d.id, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			_, err := ticket.Link(ctx, tx, ticket.Target{URL: sec1}, all[model.MaxTicketFindings:])
			return err
		})
		if invalid, is := errors.AsType[*model.InvalidError](err); !is || invalid.Fields[0].Location != "issue_ids" {
			t.Errorf("one more: %v", err)
		}
		if d.shown(all[model.MaxTicketFindings].LineageID) != nil {
			t.Error("a refused link is shown")
		}
	})
}

func TestMergedLineagesPreserveTicket(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		f := d.written(d.findings(d.project("acme/payments"), 2, nil))
		linked := d.link(sec1, f...)
		d.update(func(ctx context.Context, tx *store.Tx) error {
			all, err := tx.Lineages(ctx, []int64{f[0].LineageID})
			d.check(err)
			return tx.MergeLineages(ctx, []model.LineageMerge{{Into: all[f[0].LineageID], From: []int64{f[1].LineageID}}})
		})
		d.view(func(ctx context.Context, tx *store.Tx) error {
			about, err := tx.TicketFindings(ctx, linked.Ticket.ID, nil)
			lineages := map[int64]bool{}
			for _, x := range about {
				lineages[x.LineageID] = true
			}
			same(t, "its lineages", lineages, map[int64]bool{f[0].LineageID: true})
			return err
		})
	})
}

// TestTicketProjectSelection requests tickets for each way of choosing their project.
func TestTicketProjectSelection(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		c := d.connection("gitea")
		public := hostRepository("2", "acme/public")
		private := hostRepository("1", "acme/private")
		private.Private = true
		now := d.saveRepositories(c, private, public, hostRepository("3", "acme/unused"))
		byName := map[string]model.Project{}
		for _, r := range now {
			if r.FullName != "acme/unused" {
				byName[r.FullName] = d.assignProject(r)
			}
		}
		none := d.project("acme/unhosted")
		f := map[string][]model.Finding{}
		for name, p := range map[string]model.Project{"acme/private": byName["acme/private"], "acme/public": byName["acme/public"], "acme/unhosted": none} {
			f[name] = d.written(d.findings(p, 3, func(i int, w *model.FindingWrite) { w.RuleName = fmt.Sprint("rule-", i%2) }))
		}
		fails := func(name string, r ticket.Request, want string) {
			t.Helper()
			out := d.requestTickets(r)
			if len(out.Failed) != 1 || !strings.Contains(out.Failed[0].Reason, want) || len(out.Requested)+len(out.Skipped) != 0 {
				t.Errorf("%s: %+v; want it to fail with %q", name, out, want)
			}
		}
		own, open, bare := f["acme/private"], f["acme/public"], f["acme/unhosted"]
		fails("no tracker", ticket.Request{Findings: bare[:1]}, "No issue tracker is configured")
		fails("a connection that there is not", ticket.Request{Findings: own[:1], Connection: "jira"}, `Connection "jira" does not exist`)
		fails("a public repository", ticket.Request{Findings: open[:1]}, "are public")
		fails("one that is no project", ticket.Request{Findings: own[:1], Project: "acme/unused"}, "is not a repository of a project")
		fails("one behind the globs", ticket.Request{Findings: open[:1], Project: "acme/private", Globs: model.ProjectGlobs{"acme/public"}}, "is not a repository of a project")
		fails("no repository", ticket.Request{Findings: bare[:1], Connection: "gitea"}, "name the repository")

		out := d.requestTickets(ticket.Request{Findings: own, Group: true})
		if len(out.Requested) != 2 || len(out.Requested[0].IDs) != 2 || len(out.Failed)+len(out.Skipped) != 0 {
			t.Fatalf("three findings of two rules: %+v", out)
		}
		made := d.ticket(out.Requested[0].TicketID)
		if made.State != model.TicketRequested || made.Project != "acme/private" || made.ConnectionID != c.ID || made.Marker == "" || d.shown(own[0].LineageID) != nil {
			t.Errorf("the request is %+v", made)
		}
		repeated := d.requestTickets(ticket.Request{Findings: own})
		if len(repeated.Skipped) != 3 || len(repeated.Requested) != 0 {
			t.Errorf("asked again: %+v", repeated)
		}
		made.State, made.Problem = model.TicketFailed, "the host is down"
		d.update(func(ctx context.Context, tx *store.Tx) error { return tx.UpdateTicket(ctx, made) })
		repeated = d.requestTickets(ticket.Request{Findings: own, Group: true})
		if len(repeated.Skipped) != 1 || len(repeated.Requested) != 1 || repeated.Requested[0].TicketID != made.ID {
			t.Errorf("asked again for one that failed: %+v", repeated)
		}
		if now := d.ticket(made.ID); now.State != model.TicketRequested || now.Problem != "" || now.Marker != made.Marker {
			t.Errorf("then it is %+v, before %+v", now, made)
		}

		d.update(func(ctx context.Context, tx *store.Tx) error {
			return tx.PutTicketSetting(ctx, model.TicketSetting{ConnectionID: c.ID, Project: "acme/unused", Public: true})
		})
		apart := d.requestTickets(ticket.Request{Findings: append(slices.Clone(open[:2]), bare[:2]...)})
		if len(apart.Requested) != 4 || d.ticket(apart.Requested[3].TicketID).Project != "acme/unused" {
			t.Errorf("by the setting, one for each: %+v", apart)
		}
		d.link(sec1, open[2])
		skipped := d.requestTickets(ticket.Request{Findings: open[2:]})
		if len(skipped.Skipped) != 1 || !strings.Contains(skipped.Skipped[0].Reason, "linked to SEC-1") {
			t.Errorf("of one that has a ticket: %+v", skipped)
		}
	})
}

// fail marks tickets as failed.
func (d tenant) fail(groups ...ticket.Group) {
	d.t.Helper()
	for _, g := range groups {
		t := d.ticket(g.TicketID)
		t.State, t.Problem = model.TicketFailed, "the host is down"
		d.update(func(ctx context.Context, tx *store.Tx) error { return tx.UpdateTicket(ctx, t) })
	}
}

// ticketJobs finishes the jobs that create tickets and returns their number.
func (d tenant) ticketJobs(s *store.Store) (n int) {
	d.t.Helper()
	for {
		j, err := storetest.Claim(d.t.Context(), s, time.Minute, store.TicketJob)
		d.check(err)
		if j == nil {
			return n
		}
		d.check(s.FailJob(d.t.Context(), *j, "x"))
		n++
	}
}

// TestFailedTicketsAreRequestedAgainOnce requests failed tickets again with another grouping.
func TestFailedTicketsAreRequestedAgainOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		private := hostRepository("1", "acme/private")
		private.Private = true
		p := d.assignProject(d.saveRepositories(d.connection("gitea"), private)[0])
		f := d.written(d.findings(p, 6, func(_ int, w *model.FindingWrite) { w.RuleName = "rule" }))
		ids := func(groups []ticket.Group) (out []int64) {
			for _, g := range groups {
				out = append(out, g.TicketID)
			}
			return out
		}
		for name, c := range map[string]struct {
			findings []model.Finding
			group    bool // grouping of the first request; the second uses the opposite
			want     int  // number of tickets
		}{
			"one of three, then each":  {f[:3], true, 1},
			"three of one, then group": {f[3:], false, 3},
		} {
			first := d.requestTickets(ticket.Request{Findings: c.findings, Group: c.group})
			same(t, name+": jobs", d.ticketJobs(s), c.want)
			d.fail(first.Requested...)
			repeated := d.requestTickets(ticket.Request{Findings: c.findings, Group: !c.group})
			same(t, name+": tickets", ids(repeated.Requested), ids(first.Requested))
			same(t, name+": jobs of the second time", d.ticketJobs(s), c.want)
		}
		d.link(sec1, f...)
		d.view(func(ctx context.Context, tx *store.Tx) error {
			list, _, _, err := tx.TicketPage(ctx, store.TicketQuery{Limit: 10})
			if len(list) != 1 || list[0].URL != sec1 {
				t.Errorf("tickets about nothing, in no tracker, stay: %+v", list)
			}
			return err
		})
	})
}

// TestRetriedTicketRetainsItsTracker changes the ticket setting between two attempts.
func TestRetriedTicketRetainsItsTracker(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		private := hostRepository("1", "acme/private")
		private.Private = true
		own := d.connection("gitea")
		p := d.assignProject(d.saveRepositories(own, private)[0])
		jira := d.jira("jira")
		set := func(s model.TicketSetting) {
			d.update(func(ctx context.Context, tx *store.Tx) error { return tx.PutTicketSetting(ctx, s) })
		}
		set(model.TicketSetting{ConnectionID: jira.ID, Project: "SEC"})
		r := ticket.Request{Findings: d.written(d.findings(p, 1, nil))}
		requested := d.requestTickets(r).Requested[0]
		first := d.ticket(requested.TicketID)
		set(model.TicketSetting{})
		d.fail(requested)
		d.requestTickets(r)
		if now := d.ticket(first.ID); now.ConnectionID != jira.ID || now.Project != "SEC" || now.Marker != first.Marker || now.State != model.TicketRequested {
			t.Errorf("tried again it is %+v", now)
		}
		d.fail(requested)
		named := r
		named.Connection = "gitea"
		d.requestTickets(named)
		elsewhere := d.ticket(first.ID)
		if elsewhere.ConnectionID != own.ID || elsewhere.Project != "acme/private" || elsewhere.Marker == first.Marker {
			t.Errorf("in another place it is %+v", elsewhere)
		}
		named.Connection, named.Project = "jira", "SEC"
		d.fail(requested)
		d.requestTickets(named)
		d.update(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteConnection(ctx, jira.ID) })
		d.fail(requested)
		d.requestTickets(r)
		if now := d.ticket(first.ID); now.ConnectionID != own.ID || now.Project != "acme/private" {
			t.Errorf("without its connection it is %+v", now)
		}
	})
}

// TestLinkToLaterConnectedTracker links to an address whose tracker was connected later.
func TestLinkToLaterConnectedTracker(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		const address = "https://git.example/acme/one/issues/5"
		f := d.written(d.findings(d.project("acme/other"), 1, nil))
		first := d.link(address, f...).Ticket
		same(t, "its connection before", first.ConnectionID, int64(0))
		c := d.connection("gitea")
		d.assignProject(d.saveRepositories(c, hostRepository("1", "acme/one"))[0])
		relinked := d.link(address, f...).Ticket
		same(t, "linked again", []any{relinked.ID, relinked.ConnectionID, relinked.State}, []any{first.ID, c.ID, model.TicketUnknown})
		same(t, "as it is kept", d.ticket(first.ID), relinked)
	})
}
