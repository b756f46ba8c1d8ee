package account

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/ui"
)

const (
	// inviteFor is the lifetime of an invitation.
	inviteFor = 14 * 24 * time.Hour
	// invitedPath is the users page with the link of a new invitation.
	invitedPath = ui.UsersPath + "/invited"
)

// shared reports whether the server has several deployments.
func shared(req *ui.Request) (bool, error) {
	all, err := req.Store.Deployments(req.HTTP.Context())
	return len(all) > 1, err
}

// invite creates an invitation. It behaves the same whether or not a user of that name exists, so
// that names of other deployments stay secret.
func invite(req *ui.Request, s usersView) error {
	code, hash := auth.NewCode()
	i := model.UserInvitation{
		Name: s.Form.Name, NewName: model.NewUserName(s.Form.Name, req.Viewer.Deployment.Slug),
		DisplayName: s.Form.DisplayName,
		Role:        s.Form.Role, InvitedBy: req.Viewer.Name(), ExpiresAt: req.Clock().Add(inviteFor),
	}
	err := req.Update(func(ctx context.Context, tx *store.Tx) (err error) {
		i, err = tx.Invite(ctx, i, hash)
		return err
	})
	if message, ok := ui.InputError(err); ok {
		s.Fault = message
		return showUsers(req, http.StatusBadRequest, s)
	}
	if err != nil {
		return err
	}
	req.ShowOnce(invitedPath, i.ID, code)
	return nil
}

// invited shows the users page after an invitation.
func invited(req *ui.Request) error {
	var s usersView
	id, code := req.ShownOnce(invitedPath)
	err := req.View(func(ctx context.Context, tx *store.Tx) (err error) {
		s.Invited, err = tx.Invitation(ctx, id)
		return err
	})
	if err != nil && !errors.Is(err, model.ErrNotFound) {
		return err
	}
	if err == nil && code != "" {
		s.Link = req.BaseURL() + "/join/" + code
	}
	return showUsers(req, http.StatusOK, s)
}

// withdrawInvitation withdraws an invitation of the deployment.
func withdrawInvitation(req *ui.Request) error {
	return changed(req, "invitation-withdrawn", req.Update(func(ctx context.Context, tx *store.Tx) error {
		return tx.WithdrawInvitation(ctx, req.PathID)
	}))
}

// invitations lists the invitations of the viewer.
func invitations(req *ui.Request) error {
	me, err := ui.CurrentSession(req)
	if err != nil || me.Session.ID == 0 {
		return err
	}
	list, err := req.Store.InvitationsFor(req.HTTP.Context(), me.User.Name)
	if err != nil {
		return err
	}
	return req.Show(http.StatusOK, ui.Page{Template: "invitations", Title: "Invitations", Data: list})
}

// answered returns the viewer's invitation in the path. Without a session it redirects to the
// sign-in page and returns a session without id.
func answered(req *ui.Request) (i model.UserInvitation, who auth.SessionInfo, err error) {
	if who, err = ui.CurrentSession(req); err != nil || who.Session.ID == 0 {
		return i, who, err
	}
	list, err := req.Store.InvitationsFor(req.HTTP.Context(), who.User.Name)
	if err != nil {
		return i, who, err
	}
	at := slices.IndexFunc(list, func(i model.UserInvitation) bool { return i.ID == req.PathID })
	if at < 0 {
		return i, who, model.ErrNotFound
	}
	return list[at], who, nil
}

// acceptInvitation assigns the viewer the role of the invitation.
func acceptInvitation(req *ui.Request) error {
	i, who, err := answered(req)
	if err != nil || i.ID == 0 {
		return err
	}
	return accept(req, i, who)
}

func accept(req *ui.Request, i model.UserInvitation, who auth.SessionInfo) error {
	if err := req.Store.AcceptInvitation(req.HTTP.Context(), i, who.User); err != nil {
		return err
	}
	req.SignIn.Sessions.Forget()
	req.Redirect("/orgs/" + i.Deployment.Slug + "/overview")
	return nil
}

// declineInvitation declines an invitation of the viewer.
func declineInvitation(req *ui.Request) error {
	i, _, err := answered(req)
	if err != nil || i.ID == 0 {
		return err
	}
	if err := req.Store.DeclineInvitation(req.HTTP.Context(), i); err != nil {
		return err
	}
	req.Redirect(ui.InvitationsPath)
	return nil
}

// joinView is the data of the page that an invitation links to.
type joinView struct {
	model.UserInvitation
	As    string // name of the signed-in user; empty without a session
	Path  string // of the page
	Fault string
	Least int
}

// joining returns the invitation in the path.
func joining(req *ui.Request) (s joinView, who auth.SessionInfo, err error) {
	if req.SignIn == nil {
		return s, who, model.ErrNotFound
	}
	s.Least, s.Path = auth.MinPassword, req.HTTP.URL.Path
	s.UserInvitation, err = req.Store.InvitationByCode(req.HTTP.Context(), auth.CodeHash(req.HTTP.PathValue("code")))
	if errors.Is(err, model.ErrNotFound) {
		return s, who, ui.ErrLink
	}
	if err != nil {
		return s, who, err
	}
	who, err = req.SignIn.Session(req.HTTP)
	if errors.Is(err, ui.ErrNotSignedIn) {
		return s, who, nil
	}
	s.As = who.User.Name
	return s, who, err
}

// join shows the invitation and both options to accept it.
func join(req *ui.Request) error {
	s, _, err := joining(req)
	if err != nil {
		return err
	}
	return showJoin(req, http.StatusOK, s)
}

func showJoin(req *ui.Request, status int, s joinView) error {
	return req.Show(status, ui.Page{Template: "join", Title: "You are invited", Data: s})
}

// useJoin accepts an invitation by its link, for the signed-in user or else for a new user.
func useJoin(req *ui.Request, form url.Values) error {
	s, who, err := joining(req)
	if err != nil {
		return err
	}
	if s.As != "" {
		return accept(req, s.UserInvitation, who)
	}
	hash, err := newPassword(req, form.Get("password"), form.Get("again"), model.User{
		Name:        s.NewName,
		DisplayName: s.DisplayName,
	}, s.Deployment.Slug, s.Deployment.Name)
	var u model.User
	if err == nil {
		u, err = req.Store.JoinByInvitation(req.HTTP.Context(), s.UserInvitation, hash)
	}
	if errors.Is(err, model.ErrNotFound) {
		return ui.ErrLink
	}
	if message, ok := ui.InputError(err); ok {
		s.Fault = message
		return showJoin(req, http.StatusBadRequest, s)
	}
	if err != nil {
		return err
	}
	secret, err := req.SignIn.Sessions.Begin(req.HTTP.Context(), u.ID, "link", req.SignIn.Origin(req.HTTP),
		model.CheckedPassword{})
	return begun(req, secret, err, "/")
}
