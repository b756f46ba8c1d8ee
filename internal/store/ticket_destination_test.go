package store_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
	"github.com/redoubt/redoubt/internal/ticket"
)

func (d tenant) rename(p model.Project, name string) {
	d.t.Helper()
	d.update(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.RenameProject(ctx, p.ID, name)
		return err
	})
}

// TestRestrictedCallerRequestsTicketsInItsProjects requests tickets in trackers of the deployment as a
// caller restricted to projects. The project's name in Redoubt decides about access.
func TestRestrictedCallerRequestsTicketsInItsProjects(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		c, jira := d.connection("gitea"), d.jira("jira")
		var list []model.Repository
		for i, name := range []string{"open/x", "open/y", "other/mine"} {
			r := hostRepository(fmt.Sprint(i+1), name)
			r.Private = true
			list = append(list, r)
		}
		now := d.saveRepositories(c, list...)
		hidden, own, mine := d.assignProject(now[0]), d.assignProject(now[1]), d.assignProject(now[2])
		d.rename(hidden, "secret/x")
		d.rename(mine, "open/mine")
		f := d.written(d.findings(own, 40, func(i int, w *model.FindingWrite) { w.RuleName = fmt.Sprint("rule-", i) }))
		d.update(func(ctx context.Context, tx *store.Tx) error {
			return tx.PutTicketSetting(ctx, model.TicketSetting{ConnectionID: c.ID})
		})
		globs := model.ProjectGlobs{"open/**"}
		next := 0
		projectOf := func(r ticket.Request) string {
			r.Findings = f[next : next+1]
			next++
			out := d.requestTickets(r)
			if len(out.Failed) > 0 {
				return "refused: " + strings.NewReplacer("open/x", "X", "open/none", "X", "HR", "X", "jira", "C", "none", "C").Replace(out.Failed[0].Reason)
			}
			return d.ticket(out.Requested[0].TicketID).Project
		}
		const none = "refused: X is not a repository of a project here."
		for name, x := range map[string]struct {
			request ticket.Request
			want    string
		}{
			"its own":                        {ticket.Request{Globs: globs}, "open/y"},
			"its own, named":                 {ticket.Request{Globs: globs, Project: "open/y"}, "open/y"},
			"a name of the host of another":  {ticket.Request{Globs: globs, Project: "open/x"}, none},
			"by the connection too":          {ticket.Request{Globs: globs, Connection: "gitea", Project: "open/x"}, none},
			"an unknown one":                 {ticket.Request{Globs: globs, Project: "open/none"}, none},
			"its own by a name of the host":  {ticket.Request{Globs: globs, Project: "other/mine"}, "other/mine"},
			"unbound":                        {ticket.Request{Project: "open/x"}, "open/x"},
			"a tracker that is not set":      {ticket.Request{Globs: globs, Connection: "jira", Project: "HR"}, `refused: Connection "C" does not exist.`},
			"an unknown tracker":             {ticket.Request{Globs: globs, Connection: "none", Project: "HR"}, `refused: Connection "C" does not exist.`},
			"a tracker that is not, unbound": {ticket.Request{Connection: "jira", Project: "HR"}, "HR"},
		} {
			same(t, name, projectOf(x.request), x.want)
		}

		request := ticket.Request{Findings: f[next : next+1], Project: "open/x"}
		requested := d.requestTickets(request).Requested
		d.fail(requested...)
		request.Project, request.Globs = "", globs
		d.requestTickets(request)
		same(t, "tried again by one who does not see the place", d.ticket(requested[0].TicketID).Project, "open/y")
		next++

		d.update(func(ctx context.Context, tx *store.Tx) error {
			return tx.PutTicketSetting(ctx, model.TicketSetting{ConnectionID: jira.ID, Project: "SEC"})
		})
		for name, x := range map[string]struct {
			request ticket.Request
			want    string
		}{
			"the project of Jira that is set": {ticket.Request{Globs: globs}, "SEC"},
			"that one, named":                 {ticket.Request{Globs: globs, Connection: "jira", Project: "SEC"}, "SEC"},
			"another one of Jira":             {ticket.Request{Globs: globs, Project: "HR"}, "refused: This token is bound to projects and can use only the configured Jira project, which is not X."},
			"another one, unbound":            {ticket.Request{Project: "HR"}, "HR"},
			"back to its own connection":      {ticket.Request{Globs: globs, Connection: "gitea"}, "open/y"},
		} {
			same(t, name, projectOf(x.request), x.want)
		}
	})
}

// TestTicketLinksRespectCallerAccess links to addresses in trackers that the deployment's
// credentials can access.
func TestTicketLinksRespectCallerAccess(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		c, jira := d.connection("gitea"), d.jira("jira")
		var own model.Project
		for _, r := range d.saveRepositories(c, hostRepository("1", "acme/own"), hostRepository("2", "acme/hidden"), hostRepository("3", "acme/unused"), hostRepository("4", "acme/own-once"), hostRepository("5", "acme/mine")) {
			if r.FullName == "acme/unused" {
				continue
			}
			p := d.assignProject(r)
			switch r.FullName {
			case "acme/own":
				own = p
			case "acme/own-once":
				d.rename(p, "secret/own")
			case "acme/mine":
				d.rename(p, "acme/own-renamed")
			}
		}
		d.update(func(ctx context.Context, tx *store.Tx) error {
			return tx.PutTicketSetting(ctx, model.TicketSetting{ConnectionID: jira.ID, Project: "SEC"})
		})
		f := d.written(d.findings(own, 1, nil))
		link := func(address string, globs model.ProjectGlobs) (t model.Ticket) {
			d.update(func(ctx context.Context, tx *store.Tx) error {
				out, err := ticket.Link(ctx, tx, ticket.Target{URL: address, Globs: globs}, f)
				t = out.Ticket
				return err
			})
			return t
		}
		bound := model.ProjectGlobs{"acme/own", "acme/own-*"}
		for _, x := range []struct {
			address string
			globs   model.ProjectGlobs
			want    int64
		}{
			{"https://git.example/acme/own/issues/1", bound, c.ID},
			{"https://git.example/acme/hidden/issues/1", bound, 0},
			{"https://git.example/acme/own-once/issues/1", bound, 0},
			{"https://git.example/acme/mine/issues/1", bound, c.ID},
			{"https://git.example/acme/hidden/issues/2", nil, c.ID},
			{"https://git.example/acme/unused/issues/1", nil, 0},
			{"https://git.example/acme/../issues/1", nil, 0},
			{"https://git.example/acme/own%3F/issues/1", nil, 0},
			{"https://jira.example/browse/SEC-1", bound, jira.ID},
			{"https://jira.example/browse/HR-1", nil, 0},
		} {
			same(t, x.address, link(x.address, x.globs).ConnectionID, x.want)
		}

		hidden := d.written(d.findings(d.project("acme/other"), 1, nil))
		others := d.link(sec1, hidden...).Ticket
		mine := link(sec1, bound)
		if mine.ID == others.ID || mine.URL != sec1 {
			t.Errorf("a bound caller is given the ticket of others: %+v", mine)
		}
		same(t, "linked again", link(sec1, bound).ID, mine.ID)
		same(t, "by who sees all", link(sec1, nil).ID, others.ID)
	})
}
