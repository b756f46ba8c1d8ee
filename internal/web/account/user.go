package account

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// resetFor is the lifetime of a link to set a password.
const resetFor = 48 * time.Hour

// memberRow is a user in the list.
type memberRow struct {
	model.Member
	Self bool
	// Ours reports whether the viewer is an administrator in all deployments of the user. Only then
	// may the viewer change the account and not only the role.
	Ours bool
}

// usersView is the data of the users page.
type usersView struct {
	Rows    []memberRow
	Roles   []model.Role
	Link    string // to set a password; shown once
	LinkFor string // user of the new link; empty if none was just created
	// Invited is the new invitation, and Invitations are all open ones.
	Invited     model.UserInvitation
	Invitations []model.UserInvitation
	Shared      bool // the server has other deployments
	Form        model.Member
	Fault       string
	Done        *ui.Message
}

func users(req *ui.Request) error {
	s := usersView{Done: ui.DoneMessage(done, req.HTTP.URL.Query().Get("done"))}
	if err := madeLink(req, &s); err != nil {
		return err
	}
	return showUsers(req, http.StatusOK, s)
}

// madeLink sets the link that was just created. It is shown once, only to its creator, and while it
// is valid.
func madeLink(req *ui.Request, s *usersView) error {
	id, code := req.ShownOnce(ui.UsersPath)
	if id == 0 {
		return nil
	}
	var members []model.Member
	err := req.View(func(ctx context.Context, tx *store.Tx) (err error) {
		members, err = tx.Members(ctx)
		return err
	})
	if err != nil {
		return err
	}
	at := slices.IndexFunc(members, func(m model.Member) bool { return m.ID == id })
	if at < 0 {
		return nil
	}
	if err := ours(req, members[at]); errors.Is(err, ui.ErrForeign) {
		return nil
	} else if err != nil {
		return err
	}
	s.LinkFor = members[at].Title()
	if code == "" {
		return nil
	}
	_, u, err := req.Store.Link(req.HTTP.Context(), model.LinkReset, auth.CodeHash(code))
	if errors.Is(err, model.ErrNotFound) {
		return nil
	}
	if err == nil && u.ID == id {
		s.Link = req.BaseURL() + "/setup/" + code
	}
	return err
}

func showUsers(req *ui.Request, status int, s usersView) error {
	s.Roles = model.Roles()
	if s.Form.Role == model.RoleNone {
		s.Form.Role = model.RoleViewer
	}
	var list []model.Member
	err := req.View(func(ctx context.Context, tx *store.Tx) (err error) {
		if list, err = tx.Members(ctx); err == nil {
			s.Invitations, err = tx.Invitations(ctx)
		}
		return err
	})
	if err == nil {
		s.Shared, err = shared(req)
	}
	if err != nil {
		return err
	}
	for _, m := range list {
		ours := ours(req, m) == nil
		s.Rows = append(s.Rows, memberRow{Member: m, Self: m.Name == req.Viewer.User, Ours: ours})
	}
	return req.Show(status, ui.Page{Template: "users", Title: "Users", Section: "users", Data: s})
}

// member returns the user in the path.
func member(req *ui.Request) (m model.Member, err error) {
	err = req.View(func(ctx context.Context, tx *store.Tx) error {
		m, err = tx.Member(ctx, req.HTTP.PathValue("name"))
		return err
	})
	return m, err
}

// ours rejects changes of an account unless the viewer is an administrator in all deployments of
// the user. An administrator of one tenant must not gain access to another through shared users.
func ours(req *ui.Request, m model.Member) error {
	if !m.Foreign {
		return nil
	}
	me, err := ui.ViewerSession(req)
	if err != nil {
		return err
	}
	theirs, err := req.Store.Memberships(req.HTTP.Context(), m.ID)
	if err != nil {
		return err
	}
	for _, t := range theirs {
		if _, role := me.Role(t.Deployment.Slug); role < model.RoleAdmin {
			return ui.ErrForeign
		}
	}
	return nil
}

// createUser creates a user or, if the server has users of other deployments, an invitation. An
// invitation does not reveal whether a name is in use.
func createUser(req *ui.Request, form url.Values) error {
	role, ok := model.ParseRole(form.Get("role"))
	if !ok {
		return model.Invalid("role", "invalid value %.20q: use one of the choices", form.Get("role"))
	}
	s := usersView{Form: model.Member{User: model.User{
		Name: model.NormalUserName(form.Get("name")), DisplayName: strings.TrimSpace(form.Get("display_name")),
	}, Role: role}}
	shared, err := shared(req)
	if err != nil {
		return err
	}
	if shared {
		return invite(req, s)
	}
	u := s.Form.User
	err = req.Update(func(ctx context.Context, tx *store.Tx) (err error) {
		u, err = tx.CreateUser(ctx, u, role)
		return err
	})
	if errors.Is(err, model.ErrConflict) { // a user of this or of no deployment
		return invite(req, s)
	}
	if message, ok := ui.InputError(err); ok {
		s.Fault = message
		return showUsers(req, http.StatusBadRequest, s)
	}
	if err != nil {
		return err
	}
	return createLink(req, u)
}

// createLink creates a link to set a password and redirects to the page that shows it once.
func createLink(req *ui.Request, u model.User) error {
	code, hash := auth.NewCode()
	l := model.UserLink{Kind: model.LinkReset, UserID: u.ID, ExpiresAt: req.Clock().Add(resetFor)}
	var err error
	if l.Within, err = administers(req); err != nil {
		return err
	}
	err = req.Store.CreateLink(req.HTTP.Context(), l, hash, req.Viewer.Actor())
	if message, ok := ui.InputError(err); ok {
		return showUsers(req, http.StatusConflict, usersView{Fault: message})
	}
	if err != nil {
		return err
	}
	req.ShowOnce(ui.UsersPath, u.ID, code)
	return nil
}

// administers returns the deployments in which the viewer is an administrator.
func administers(req *ui.Request) ([]int64, error) {
	me, err := ui.ViewerSession(req)
	if err != nil {
		return nil, err
	}
	ids := []int64{}
	for _, m := range me.Memberships {
		if m.Role >= model.RoleAdmin {
			ids = append(ids, m.Deployment.ID)
		}
	}
	return ids, nil
}

// resetUser creates a link to set a user's password.
func resetUser(req *ui.Request) error {
	m, err := member(req)
	if err == nil {
		err = ours(req, m)
	}
	if err != nil {
		return err
	}
	return createLink(req, m.User)
}

// setUserRole changes a user's role in the deployment, or removes the user from it.
func setUserRole(req *ui.Request, form url.Values) error {
	m, err := member(req)
	if err != nil {
		return err
	}
	word, role := "user-role", model.RoleNone
	if form.Get("role") == "none" {
		word = "user-removed"
	} else if chosen, ok := model.ParseRole(form.Get("role")); ok {
		role = chosen
	} else {
		return model.Invalid("role", "invalid value %.20q: use one of the choices", form.Get("role"))
	}
	return changed(req, word, req.Update(func(ctx context.Context, tx *store.Tx) error {
		return tx.SetRole(ctx, m.ID, role)
	}))
}

func disableUser(req *ui.Request) error {
	m, err := member(req)
	if err == nil {
		err = ours(req, m)
	}
	if err != nil {
		return err
	}
	return changed(req, "user-disabled", req.Store.DisableUser(req.HTTP.Context(), m.ID, req.Viewer.Actor()))
}

func enableUser(req *ui.Request) error {
	m, err := member(req)
	if err == nil {
		err = ours(req, m)
	}
	if err != nil {
		return err
	}
	return changed(req, "user-enabled", req.Store.EnableUser(req.HTTP.Context(), m.ID, req.Viewer.Actor()))
}

// changed returns to the list after a change. Sessions are reloaded, so that the change takes
// effect immediately.
func changed(req *ui.Request, word string, err error) error {
	if message, ok := ui.InputError(err); ok {
		return showUsers(req, http.StatusConflict, usersView{Fault: message})
	}
	if err != nil {
		return err
	}
	if req.SignIn != nil {
		req.SignIn.Sessions.Forget()
	}
	req.Redirect(req.To(ui.UsersPath + "?done=" + word))
	return nil
}
