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

// epoch is a fixed time for queries that are only validated.
var epoch = time.Unix(0, 0)

// viewMenu is the menu of saved views.
type viewMenu struct {
	Mine, Shared  []viewChoice
	All           component.Choice // open findings without a view
	Current       model.SavedView
	Differs       bool   // the list differs from the saved view
	May           bool   // the viewer may change the current view
	State         string // state of the current view, for its forms
	StoredAddress string // address of the current view as stored
	Problem       string
	Query         string // the query to store
	Refused       string // why the query cannot be stored; empty if it can
	Form          viewForm
}

// viewChoice is a view in the menu.
type viewChoice struct {
	component.Choice
	Default bool
}

// viewForm is the form of a view and the error that rejected it.
type viewForm struct {
	ID              int64 // id of the view; 0: a new one
	Name            string
	Shared, Default bool
	Fault           string
}

// Renamed reports whether the rejected form changes an existing view.
func (m viewMenu) Renamed() bool { return m.Form.Fault != "" && m.Form.ID != 0 }

// Fresh reports whether the rejected form creates a view.
func (m viewMenu) Fresh() bool { return m.Form.Fault != "" && m.Form.ID == 0 }

// newViewMenu reads the views of a list and the possible actions.
func newViewMenu(req *ui.Request, s *search, form viewForm) (viewMenu, error) {
	m := viewMenu{
		Current: s.opened.view, Problem: s.opened.problem, Query: queryToStore(req, s.addressed()), Form: form,
	}
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
		m.Differs, m.May = s.differs(), mayChange(req, m.Current)
		m.StoredAddress = s.base + "?" + viewWord + "=" + ui.Decimal(m.Current.ID)
		m.State = stateOfView(m.Current)
	}
	if _, err := Query(s.product.Type, m.Query, req.Clock()); err != nil {
		m.Refused, _ = ui.InputError(err)
	}
	return m, nil
}

// mayChange reports whether the viewer may change a view: their own or, for users with the triager
// role, a shared one.
func mayChange(req *ui.Request, v model.SavedView) bool {
	return v.OwnerID == req.Viewer.UserID && v.OwnerID != 0 || v.Shared() && req.Viewer.May(model.RoleTriager)
}

// queryToStore returns the query that a view stores. The viewer's name is replaced with @me.
func queryToStore(req *ui.Request, q url.Values) string {
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

// submittedView is a submitted form about a view.
type submittedView struct {
	form  url.Values
	about model.IssueType
	viewForm
}

func readSubmittedView(req *ui.Request) (a submittedView, err error) {
	if a.form, err = req.Form(); err != nil {
		return a, err
	}
	t, ok := model.ParseIssueType(a.form.Get("type"))
	if !ok {
		return a, model.Invalid("type", "must be sast, sca or secrets")
	}
	a.about = t
	a.viewForm = viewForm{
		Name:    strings.TrimSpace(model.Line(a.form.Get("name"))),
		Shared:  a.form.Get("shared") != "",
		Default: a.form.Get("default") != "",
	}
	return a, nil
}

// stateOfView returns a hash of a view's shared properties. A form with another hash was rendered
// before a change.
func stateOfView(v model.SavedView) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %q %q", v.ID, v.OwnerID, v.Name, v.Query))
	return hex.EncodeToString(sum[:12])
}

// unchangedView returns model.ErrConflict if the view was changed after the form was rendered. It
// prevents overwriting changes of other users.
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
	return fmt.Errorf("this view was changed in the meantime %s and is now named %s: review it, then save again "+
		"to overwrite it: %w", who, v.Name, model.ErrConflict)
}

// refuseView shows the list again, with the rejected form and its error.
func refuseView(req *ui.Request, a submittedView, id int64, err error) error {
	if a.form.Get("state") != "" && errors.Is(err, model.ErrNotFound) {
		err, id = fmt.Errorf("this view was deleted or made private in the meantime: save your version as a new "+
			"view: %w", model.ErrConflict), 0
	}
	message, ok := ui.InputError(err)
	if !ok {
		return err
	}
	a.Fault, a.ID = message, id
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

// filled sets the fields of a view from a form and validates it.
func filled(req *ui.Request, v model.SavedView, a submittedView) (model.SavedView, error) {
	v.Name, v.OwnerID = a.Name, 0
	if !a.Shared {
		v.OwnerID = req.Viewer.UserID
	}
	if !mayChange(req, v) {
		return v, ui.ErrForbidden
	}
	return v, model.CheckSavedView(v)
}

// addView creates a saved view from a list.
func addView(req *ui.Request) error {
	a, err := readSubmittedView(req)
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

// changeView performs the submitted action on a view: it stores the current list, changes name or
// owner, or sets the default view.
func changeView(req *ui.Request) error {
	a, err := readSubmittedView(req)
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

// removeView deletes a view. The displayed list stays unchanged.
func removeView(req *ui.Request, form url.Values) error {
	a := submittedView{form: form}
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
