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

// viewWord names a saved view in the address of a findings page, by its id; allFindings is
// that there is none, also where the page would open with one.
const (
	viewWord    = "view"
	allFindings = "all"
)

// openedView is the saved view that a page goes by.
type openedView struct {
	view    model.SavedView // without an id: none
	kept    string          // its query, in the spelling of the page for the viewer
	lead    bool            // without a view, the address has to say so: the bare one may open another
	problem string          // what of it cannot be followed
	fault   error           // why the list is another one than was asked for; nil where it is not
}

// placed are the words of an address that tell where in a list one is, what was done, and as
// which file it is fetched.
var placed = []string{viewWord, "page", "finding", "facet", "done", "format"}

// openView reads an address. One that names a view and nothing else is the view; what else
// it says is in place of what the view keeps. Of a view that has no meaning any more, it
// opens what still has one.
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
	kept, lost := followable(p.Type, opened.view.Query)
	if len(lost) > 0 {
		s.opened.fault = model.Invalid(viewWord, "%s", strings.Join(lost, "; "))
	}
	saved, err := searchOf(p, s.base, named(req, kept), req.Clock())
	if err != nil {
		return nil, err
	}
	s.opened.kept = saved.kept()
	view, err := req.Findings()
	if err != nil {
		return nil, err
	}
	lost = append(lost, view.Missing(nil, &index.PageQuery{Filter: saved.filter})[0]...)
	s.opened.problem = strings.Join(lost, "; ")
	return s, nil
}

// viewOf finds the view that an address names, and the query that is left to read.
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
			problem: "This saved view is gone, or is somebody’s own: here is what is open",
			fault:   model.ErrNotFound,
		}, rest, nil
	}
	if err != nil || id == 0 || speaksOfList(p.Type, rest) {
		return opened, rest, err
	}
	kept, _ := followable(p.Type, opened.view.Query)
	maps.Copy(kept, rest)
	return opened, kept, nil
}

// speaksOfList reports whether a query has a word that says what to list, or how. What other
// programs add to an address is none, nor is where in the list one is.
func speaksOfList(t model.IssueType, q url.Values) bool {
	for name := range q {
		if !slices.Contains(placed, name) && isWord(t, name) {
			return true
		}
	}
	return false
}

// isWord reports whether a findings page reads a word of its address.
func isWord(t model.IssueType, name string) bool {
	for _, words := range [][]string{placed, unselective, lookedUp, selective} {
		if slices.Contains(words, name) {
			return true
		}
	}
	return slices.ContainsFunc(facetsOf(t), func(f facet) bool { return string(f.key) == strings.TrimPrefix(name, "-") })
}

// followable is what of a kept query still has a meaning, and the words that have none.
func followable(t model.IssueType, query string) (q url.Values, lost []string) {
	q, _ = url.ParseQuery(query) // as it was kept, so it can be read; else what of it can
	for _, name := range slices.Sorted(maps.Keys(q)) {
		if _, err := Query(t, url.Values{name: q[name]}.Encode(), epoch); err != nil {
			lost = append(lost, fmt.Sprintf("%s=%.60s is not understood any more", name, strings.Join(q[name], ",")))
			delete(q, name)
		}
	}
	return q, lost
}

// withDefaultView is the query of a page without one: that of the view that the viewer
// opens the page with.
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

// kept is the state as a saved view keeps it: without where one is in the list.
func (s *search) kept() string {
	q := s.params()
	for _, name := range placed {
		q.Del(name)
	}
	return q.Encode()
}

// addressed are the whole state and the view that it began with, for who reads it again:
// it is the same whatever becomes of the view.
func (s *search) addressed() url.Values {
	q := s.params()
	switch bare := s.kept() == ""; {
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

// address is the page with this state.
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

// differs reports whether the state is another one than the view keeps.
func (s *search) differs() bool { return s.kept() != s.opened.kept }

// plain is the address of all that is open, under no view.
func (s *search) plain() string {
	if s.opened.view.ID != 0 || s.opened.lead {
		return s.base + "?" + viewWord + "=" + allFindings
	}
	return s.base
}
