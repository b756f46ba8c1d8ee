package findings

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// viewWord is the parameter with the id of a saved view. The value allFindings selects no view,
// even if the page has a default view.
const (
	viewWord    = "view"
	allFindings = "all"
)

// openedView is the saved view of a page.
type openedView struct {
	view    model.SavedView // zero if there is none
	query   string          // its query in the page's form for the viewer
	lead    bool            // an address without a view needs a parameter, as the bare address may open a default view
	problem string          // parts of the query that are no longer valid
	fault   error           // why the list differs from the requested one; nil if it does not
}

// placed lists the parameters for the position in a list, the completed action and the file format.
var placed = []string{viewWord, "page", "finding", "facet", "done", "format"}

// openView parses an address. If it names a view and has no other parameters, the query of the view
// applies. Other parameters replace that query. Invalid parts of a view's query are ignored.
func openView(req *ui.Request, p ui.Product, q url.Values) (*search, error) {
	opened, q, err := viewOf(req, p, q)
	if err != nil {
		return nil, err
	}
	s, err := searchOf(p, req.To(p.Path), named(req, q), req.Clock())
	if err != nil {
		return nil, err
	}
	if s.opened = opened; opened.view.ID == 0 {
		return s, nil
	}
	stored, lost := followable(p.Type, opened.view.Query)
	if len(lost) > 0 {
		s.opened.fault = model.Invalid(viewWord, "%s", strings.Join(lost, "; "))
	}
	saved, err := searchOf(p, s.base, named(req, stored), req.Clock())
	if err != nil {
		return nil, err
	}
	s.opened.query = saved.storedQuery()
	view, err := req.Findings()
	if err != nil {
		return nil, err
	}
	lost = append(lost, view.Missing(nil, &index.PageQuery{Filter: saved.filter})[0]...)
	s.opened.problem = strings.Join(lost, "; ")
	return s, nil
}

// viewOf returns the view in an address and the remaining query.
func viewOf(req *ui.Request, p ui.Product, q url.Values) (openedView, url.Values, error) {
	word := q.Get(viewWord)
	id, bad := 0, &model.InvalidError{}
	if word != allFindings {
		id = ui.Number(q, viewWord, bad)
	}
	if len(bad.Fields) > 0 {
		return openedView{}, nil, bad
	}
	var opened openedView
	err := req.View(func(ctx context.Context, tx *store.Tx) error {
		chosen, err := tx.DefaultView(ctx, req.Viewer.UserID, p.Type)
		if opened.lead = chosen != 0 || word == allFindings; err == nil && id != 0 {
			opened.view, err = tx.SavedView(ctx, req.Viewer.UserID, int64(id))
		}
		return err
	})
	rest := maps.Clone(q)
	delete(rest, viewWord)
	if errors.Is(err, model.ErrNotFound) || err == nil && id != 0 && opened.view.IssueType != p.Type {
		return openedView{
			lead:    true,
			problem: "This saved view does not exist or is private. Open findings are shown instead",
			fault:   model.ErrNotFound,
		}, rest, nil
	}
	if err != nil || id == 0 || speaksOfList(p.Type, rest) {
		return opened, rest, err
	}
	stored, _ := followable(p.Type, opened.view.Query)
	maps.Copy(stored, rest)
	return opened, stored, nil
}

// speaksOfList reports whether a query selects or arranges a list. Unknown parameters and those in
// placed do not count.
func speaksOfList(t model.IssueType, q url.Values) bool {
	for name := range q {
		if !slices.Contains(placed, name) && isWord(t, name) {
			return true
		}
	}
	return false
}

// isWord reports whether a findings page uses a parameter.
func isWord(t model.IssueType, name string) bool {
	for _, words := range [][]string{placed, unselective, lookedUp, selective} {
		if slices.Contains(words, name) {
			return true
		}
	}
	return slices.ContainsFunc(facetsOf(t), func(f facet) bool { return string(f.key) == strings.TrimPrefix(name, "-") })
}

// followable returns the valid part of a stored query, and messages about the invalid parts.
func followable(t model.IssueType, query string) (q url.Values, lost []string) {
	q, _ = url.ParseQuery(query) // stored queries are valid; otherwise use the valid part
	for _, name := range slices.Sorted(maps.Keys(q)) {
		if _, err := Query(t, url.Values{name: q[name]}.Encode(), epoch); err != nil {
			lost = append(lost, fmt.Sprintf("%s=%.60s is no longer supported", name, strings.Join(q[name], ",")))
			delete(q, name)
		}
	}
	return q, lost
}

// withDefaultView returns the query of a page. Without parameters it is the viewer's default view.
func withDefaultView(req *ui.Request, t model.IssueType, q url.Values) (url.Values, error) {
	for name := range q {
		if isWord(t, name) {
			return q, nil
		}
	}
	var id int64
	err := req.View(func(ctx context.Context, tx *store.Tx) (err error) {
		id, err = tx.DefaultView(ctx, req.Viewer.UserID, t)
		return err
	})
	if id != 0 {
		q = url.Values{viewWord: {ui.Decimal(id)}}
	}
	return q, err
}

// storedQuery returns the query that a saved view stores, without the position in the list.
func (s *search) storedQuery() string {
	q := s.params()
	for _, name := range placed {
		q.Del(name)
	}
	return q.Encode()
}

// addressed returns the complete state and the view that it started with. It stays the same if the
// view changes later.
func (s *search) addressed() url.Values {
	q := s.params()
	switch bare := s.storedQuery() == ""; {
	case s.opened.view.ID != 0:
		q.Set(viewWord, ui.Decimal(s.opened.view.ID))
		if bare {
			q.Set(string(index.FacetStatus), model.StatusOpen.String())
		}
	case s.opened.lead && bare:
		q.Set(viewWord, allFindings)
	}
	return q
}

// address returns the address of the page with this state.
func (s *search) address() string {
	q := s.addressed()
	if s.opened.view.ID != 0 && !s.differs() {
		for name := range q {
			if !slices.Contains(placed, name) {
				q.Del(name)
			}
		}
	}
	if len(q) == 0 {
		return s.base
	}
	return s.base + "?" + q.Encode()
}

// differs reports whether the state differs from the saved view.
func (s *search) differs() bool { return s.storedQuery() != s.opened.query }

// plain returns the address of all open findings without a view.
func (s *search) plain() string {
	if s.opened.view.ID != 0 || s.opened.lead {
		return s.base + "?" + viewWord + "=" + allFindings
	}
	return s.base
}
