package findings

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/component"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// person is a user in lists of assignees.
type person struct {
	Name  string // sign-in name, as stored
	Title string
}

// people contains the users of a deployment.
type people struct {
	me     string
	titles map[string]string // by name, including disabled users
	Able   []person          // possible assignees, by name
}

// listPeople reads the users of the deployment.
func listPeople(req *ui.Request) (p *people, err error) {
	err = req.View(func(ctx context.Context, tx *store.Tx) (err error) {
		p, err = membersOf(ctx, tx, req.Viewer.User)
		return err
	})
	return p, err
}

func membersOf(ctx context.Context, tx *store.Tx, me string) (*people, error) {
	p := &people{me: me, titles: map[string]string{}}
	members, err := tx.Members(ctx)
	for _, m := range members {
		p.titles[m.Name] = m.Title()
		if !m.Enabled() {
			p.titles[m.Name] += " (disabled)"
		} else if m.Name != me {
			p.Able = append(p.Able, person{m.Name, m.Title()})
		}
	}
	return p, err
}

// Title returns the display name of a user, who may have left the deployment.
func (p *people) Title(name string) string {
	switch title, ok := p.titles[name]; {
	case name == "" || name == model.AssigneeNone:
		return "Unassigned"
	case ok:
		return title
	case name == p.me:
		return name
	}
	return name + " (no longer a user)"
}

// label returns the name of a user in a facet.
func (p *people) label(name string) string {
	if p == nil {
		return name
	}
	if name == p.me {
		return "Me"
	}
	return p.Title(name)
}

// named replaces @me with the viewer's name. Addresses with @me therefore select the viewer's own
// findings for each user.
func named(req *ui.Request, q url.Values) url.Values {
	q = maps.Clone(q)
	for _, key := range []string{string(index.FacetAssignee), "-" + string(index.FacetAssignee)} {
		if i := slices.Index(q[key], model.AssigneeMe); i >= 0 {
			q[key] = slices.Replace(slices.Clone(q[key]), i, i+1, req.Viewer.User)
		}
	}
	return q
}

// myPage is the data of the page of the viewer's own findings.
type myPage struct {
	Total       int
	Parts       []myPart
	Requests    []component.ExceptionRow // the newest requests of the viewer
	AllRequests string
	Mentions    []mention // the newest mentions of the viewer
}

// myPart contains the viewer's findings of one product.
type myPart struct {
	Product ui.Product
	Total   int
	All     string // address of the full list
	Rows    []findingRow
}

// rowsOfMine is the maximum number of findings of a product on the page.
const rowsOfMine = 20

// requestsOfMine is the maximum number of exception requests on the page.
const requestsOfMine = 5

// myRequests reads the newest exception requests of the viewer.
func myRequests(req *ui.Request, view *index.View) (rows []component.ExceptionRow, err error) {
	if req.Viewer.UserID == 0 {
		return nil, nil
	}
	err = req.View(func(ctx context.Context, tx *store.Tx) error {
		list, _, err := tx.ExceptionPage(ctx, store.ExceptionQuery{CreatorID: req.Viewer.UserID, Limit: requestsOfMine})
		if err == nil && len(list) > 0 {
			rows, err = component.ExceptionRows(ctx, req, tx, view, list)
		}
		return err
	})
	if err == nil && len(rows) > 0 {
		err = component.TitleExceptions(req, view, rows)
	}
	return rows, err
}

// listMine shows the viewer's pending findings by severity, their exception requests and their
// mentions.
func listMine(req *ui.Request) error {
	view, err := req.Findings()
	if err != nil {
		return err
	}
	page := &myPage{AllRequests: req.To("/exceptions?show=mine")}
	if page.Requests, err = myRequests(req, view); err != nil {
		return err
	}
	if page.Mentions, err = myMentions(req, view); err != nil {
		return err
	}
	for _, p := range ui.Products {
		q := url.Values{string(index.FacetAssignee): {req.Viewer.User}}
		for _, status := range ui.PendingStatuses {
			q.Add(string(index.FacetStatus), status.String())
		}
		s, err := searched(req, p, q)
		if err != nil {
			return err
		}
		answer, err := view.List(req.HTTP.Context(), index.ListQuery{
			Filter: ui.AssignedToViewer(req, p.Type),
			Order:  index.MostSevere,
			Size:   rowsOfMine,
		})
		if err != nil {
			return err
		}
		shown, err := component.ShownFindings(answer.Page)
		if err != nil {
			return err
		}
		part := myPart{Product: p, Total: answer.Total, All: s.address()}
		for _, f := range shown {
			part.Rows = append(part.Rows, newFindingRow(req, s, f))
		}
		if part.Total > 0 {
			page.Parts, page.Total = append(page.Parts, part), page.Total+part.Total
		}
	}
	return req.Show(http.StatusOK, ui.Page{Template: "mine", Title: "Assigned to me", Section: "mine", Data: page})
}
