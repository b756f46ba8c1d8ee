package findings

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/component"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// epoch is a time for queries whose meaning alone is asked for, not what they select.
var epoch = time.Unix(0, 0)

// viewMenu is what the head of a list shows of saved views.
type viewMenu struct {
	Mine, Shared []viewChoice
	All          component.Choice // what is open, under no view
	Current      model.SavedView
	Differs      bool   // the list is another one than the view keeps
	May          bool   // the viewer may change the current view
	State        string // of the current view, for its forms
	Again        string // address of the current view as it is kept
	Problem      string
	Kept         string // the query to keep
	Refused      string // why it cannot be kept; empty where it can
	Form         viewForm
}

// viewChoice is a view to open.
type viewChoice struct {
	component.Choice
	Default bool
}

// viewForm is what somebody filled in, and why it was refused.
type viewForm struct {
	ID              int64 // of the view that it is about; 0: a new one
	Name            string
	Shared, Default bool
	Fault           string
}

// Renamed and Fresh report whether what was filled in is about the current view, or about a
// new one.
func (m viewMenu) Renamed() bool { return m.Form.Fault != "" && m.Form.ID != 0 }

// Fresh is the counterpart of Renamed.
func (m viewMenu) Fresh() bool { return m.Form.Fault != "" && m.Form.ID == 0 }

// newViewMenu gathers the views of a list, and what can be done with it.
func newViewMenu(req *ui.Request, s *search, form viewForm) (viewMenu, error) {
	m := viewMenu{Current: s.opened.view, Problem: s.opened.problem, Kept: keptQuery(req, s.addressed()), Form: form}
	var list []model.SavedView
	err := req.View(func(ctx context.Context, tx *store.Tx) (err error) {
		list, err = tx.SavedViews(ctx, req.Viewer.UserID)
		return err
	})
	if err != nil {
		return m, err
	}
	for _, v := range list {
		if v.IssueType != s.product.Type {
			continue
		}
		c := viewChoice{
			component.Choice{
				Label: v.Name, Address: s.base + "?" + viewWord + "=" + ui.Decimal(v.ID), Current: v.ID == m.Current.ID,
			},
			v.Default,
		}
		if v.Shared() {
			m.Shared = append(m.Shared, c)
		} else {
			m.Mine = append(m.Mine, c)
		}
	}
	m.All = component.Choice{Label: "All findings", Address: s.plain(), Current: m.Current.ID == 0}
	if m.Current.ID != 0 {
		m.Differs, m.May, m.Again = s.differs(), mayChange(req, m.Current), s.base+"?"+viewWord+"="+ui.Decimal(m.Current.ID)
		m.State = stateOfView(m.Current)
	}
	if _, err := Query(s.product.Type, m.Kept, req.Clock()); err != nil {
		m.Refused, _ = ui.InputError(err)
	}
	return m, nil
}

// mayChange reports whether the viewer may change a view: their own, or, who decides about
// findings, one that is shared.
func mayChange(req *ui.Request, v model.SavedView) bool {
	return v.OwnerID == req.Viewer.UserID && v.OwnerID != 0 || v.Shared() && req.Viewer.May(model.RoleTriager)
}

// keptQuery is the query of a page as a view keeps it: the viewer, whom the page calls
// Me, is whoever looks.
func keptQuery(req *ui.Request, q url.Values) string {
	for _, name := range placed {
		q.Del(name)
	}
	for _, key := range []string{string(index.FacetAssignee), "-" + string(index.FacetAssignee)} {
		for i, name := range q[key] {
			if name == req.Viewer.User {
				q[key] = slices.Replace(slices.Clone(q[key]), i, i+1, model.AssigneeMe)
			}
		}
	}
	return q.Encode()
}

// askedView is what a form about a view says.
type askedView struct {
	form  url.Values
	about model.IssueType
	viewForm
}

func readAskedView(req *ui.Request) (a askedView, err error) {
	if a.form, err = req.Form(); err != nil {
		return a, err
	}
	t, ok := model.ParseIssueType(a.form.Get("type"))
	if !ok {
		return a, model.Invalid("type", "is sast, sca or secrets")
	}
	a.about = t
	a.viewForm = viewForm{
		Name:    strings.TrimSpace(model.Line(a.form.Get("name"))),
		Shared:  a.form.Get("shared") != "",
		Default: a.form.Get("default") != "",
	}
	return a, nil
}

// stateOfView names what others may change of a view, for forms: one that names another
// state than there is was filled in before the change.
func stateOfView(v model.SavedView) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %q %q", v.ID, v.OwnerID, v.Name, v.Query))
	return hex.EncodeToString(sum[:12])
}

// unchangedView refuses what was filled in before somebody changed the view, by
// model.ErrConflict: nobody saw what it would overwrite.
func unchangedView(ctx context.Context, req *ui.Request, tx *store.Tx, v model.SavedView, state string) error {
	if state == "" || state == stateOfView(v) {
		return nil
	}
	by, err := tx.SavedViewChangedBy(ctx, v.ID)
	if err != nil {
		return err
	}
	who := "by " + by.Label()
	if !v.Shared() || by.Label() == "" || by == req.Viewer.Actor() {
		who = "from another window"
	}
	return fmt.Errorf("this view was changed meanwhile, %s: it is called %s now. Look at what it has, then do it again "+
		"to overwrite that: %w", who, v.Name, model.ErrConflict)
}

// refuseView shows the list again, with what was filled in and what is wrong with it.
func refuseView(req *ui.Request, a askedView, id int64, err error) error {
	if a.form.Get("state") != "" && errors.Is(err, model.ErrNotFound) {
		err, id = fmt.Errorf("this view was deleted meanwhile, or is somebody’s own now: here is what you have, to "+
			"save it anew: %w", model.ErrConflict), 0
	}
	said, ok := ui.InputError(err)
	if !ok {
		return err
	}
	a.Fault, a.ID = said, id
	q, bad := url.ParseQuery(a.form.Get("query"))
	if _, unread := Query(a.about, q.Encode(), req.Clock()); bad != nil || unread != nil {
		q = url.Values{}
	}
	if len(q) == 0 {
		q.Set(string(index.FacetStatus), model.StatusOpen.String())
	}
	if id != 0 {
		q.Set(viewWord, ui.Decimal(id))
	}
	status := http.StatusBadRequest
	if errors.Is(err, model.ErrConflict) {
		status = http.StatusConflict
	}
	return showFindings(req, status, a.about, q, a.viewForm, nil)
}

// filled gives a view what a form says, and checks all of it.
func filled(req *ui.Request, v model.SavedView, a askedView) (model.SavedView, error) {
	v.Name, v.OwnerID = a.Name, 0
	if !a.Shared {
		v.OwnerID = req.Viewer.UserID
	}
	if !mayChange(req, v) {
		return v, ui.ErrForbidden
	}
	return v, model.CheckSavedView(v)
}

// addView keeps a list under a name.
func addView(req *ui.Request) error {
	a, err := readAskedView(req)
	if err != nil {
		return err
	}
	var v model.SavedView
	q, err := Query(a.about, a.form.Get("query"), req.Clock())
	if err == nil {
		v, err = filled(req, model.SavedView{IssueType: a.about, Query: q.Text}, a)
	}
	if err == nil {
		err = req.Update(func(ctx context.Context, tx *store.Tx) error {
			if v, err = tx.AddSavedView(ctx, v); err == nil && a.Default {
				err = tx.SetDefaultView(ctx, req.Viewer.UserID, v, true)
			}
			return err
		})
	}
	if err != nil {
		return refuseView(req, a, 0, err)
	}
	toView(req, v)
	return nil
}

func toView(req *ui.Request, v model.SavedView) {
	req.Redirect(req.To(ui.ProductOf(v.IssueType).Path + "?" + viewWord + "=" + ui.Decimal(v.ID)))
}

// changeView does what the button of a form about a view says: it keeps the list as it is
// now, changes what the view is called and whose it is, or has the page open with it.
func changeView(req *ui.Request) error {
	a, err := readAskedView(req)
	if err != nil {
		return err
	}
	var v model.SavedView
	err = req.Update(func(ctx context.Context, tx *store.Tx) error {
		before, err := tx.SavedView(ctx, req.Viewer.UserID, req.PathID)
		if err != nil {
			return err
		}
		v, a.about = before, before.IssueType
		switch a.form.Get("do") {
		case "default":
			return tx.SetDefaultView(ctx, req.Viewer.UserID, v, a.Default)
		case "query":
			var q index.PageQuery
			if q, err = Query(v.IssueType, a.form.Get("query"), req.Clock()); err == nil {
				v.Query, a.Name, a.Shared = q.Text, v.Name, v.Shared()
			}
		}
		if err == nil && !mayChange(req, before) {
			err = ui.ErrForbidden
		}
		if err == nil {
			err = unchangedView(ctx, req, tx, before, a.form.Get("state"))
		}
		if err == nil {
			v, err = filled(req, v, a)
		}
		if err != nil {
			return err
		}
		return tx.UpdateSavedView(ctx, before, v)
	})
	if err != nil {
		return refuseView(req, a, req.PathID, err)
	}
	toView(req, v)
	return nil
}

// removeView forgets a view. The list stays as it shows.
func removeView(req *ui.Request, form url.Values) error {
	a := askedView{form: form}
	var v model.SavedView
	err := req.Update(func(ctx context.Context, tx *store.Tx) (err error) {
		if v, err = tx.SavedView(ctx, req.Viewer.UserID, req.PathID); err != nil {
			return err
		}
		if !mayChange(req, v) {
			return ui.ErrForbidden
		}
		if err := unchangedView(ctx, req, tx, v, a.form.Get("state")); err != nil {
			return err
		}
		return tx.DeleteSavedView(ctx, v)
	})
	if errors.Is(err, model.ErrConflict) {
		a.about, a.Name, a.Shared = v.IssueType, v.Name, v.Shared()
		return refuseView(req, a, req.PathID, err)
	}
	if err == nil {
		req.Redirect(req.To(ui.ProductOf(v.IssueType).Path + "?" + viewWord + "=" + allFindings))
	}
	return err
}
