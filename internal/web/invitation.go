package web

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
)

const (
	// inviteFor is how long an invitation holds.
	inviteFor = 14 * 24 * time.Hour
	// invitationsPath lists what somebody is invited to.
	invitationsPath = "/invitations"
	// invitedPath is the page of the users with the link of a new invitation.
	invitedPath = usersPath + "/invited"
)

// shared reports whether other deployments have people on this server, too.
func (req *request) shared() (bool, error) {
	all, err := req.Store.Deployments(req.r.Context())
	return len(all) > 1, err
}

// invite asks a person in. What happens is the same whether or not the server
// knows a user of that name: nobody is looked for.
func (req *request) invite(s usersView) error {
	code, hash := auth.NewCode()
	i := model.UserInvitation{
		Name: s.Form.Name, NewName: model.NewUserName(s.Form.Name, req.viewer.Deployment.Slug),
		DisplayName: s.Form.DisplayName,
		Role:        s.Form.Role, InvitedBy: req.viewer.Name(), ExpiresAt: req.Clock().Add(inviteFor),
	}
	err := req.update(func(ctx context.Context, tx *store.Tx) (err error) {
		i, err = tx.Invite(ctx, i, hash)
		return err
	})
	if said, ok := sayable(err); ok {
		s.Fault = said
		return req.showUsers(http.StatusBadRequest, s)
	}
	if err != nil {
		return err
	}
	req.showOnce(invitedPath, i.ID, code)
	return nil
}

// invited is the page of the users after somebody was invited.
func (req *request) invited() error {
	var s usersView
	id, code := req.shownOnce(invitedPath)
	err := req.view(func(ctx context.Context, tx *store.Tx) (err error) {
		s.Invited, err = tx.Invitation(ctx, id)
		return err
	})
	if err != nil && !errors.Is(err, model.ErrNotFound) {
		return err
	}
	if err == nil && code != "" {
		s.Link = req.base() + "/join/" + code
	}
	return req.showUsers(http.StatusOK, s)
}

// withdrawInvitation takes an invitation back.
func (req *request) withdrawInvitation() error {
	return req.changed("invitation-withdrawn", req.update(func(ctx context.Context, tx *store.Tx) error {
		return tx.WithdrawInvitation(ctx, req.pathID)
	}))
}

// invitations lists what somebody is invited to.
func (req *request) invitations() error {
	me, err := req.signedIn()
	if err != nil || me.Session.ID == 0 {
		return err
	}
	list, err := req.Store.InvitationsFor(req.r.Context(), me.User.Name)
	if err != nil {
		return err
	}
	return req.show(http.StatusOK, pageView{Template: "invitations", Title: "Invitations", Data: list})
}

// leadToInvitations leads who has no role yet to what they are invited to, if
// anything.
func (req *request) leadToInvitations() (bool, error) {
	me, err := req.me()
	if err != nil {
		return false, err
	}
	list, err := req.Store.InvitationsFor(req.r.Context(), me.User.Name)
	if err == nil && len(list) == 0 {
		err = errNoRole
	}
	if err != nil {
		return false, err
	}
	req.lead(invitationsPath)
	return false, nil
}

// answered finds the invitation that the address names and that is for who looks.
// Where nobody is signed in, who has no session.
func (req *request) answered() (i model.UserInvitation, who auth.SessionInfo, err error) {
	if who, err = req.signedIn(); err != nil || who.Session.ID == 0 {
		return i, who, err
	}
	list, err := req.Store.InvitationsFor(req.r.Context(), who.User.Name)
	if err != nil {
		return i, who, err
	}
	at := slices.IndexFunc(list, func(i model.UserInvitation) bool { return i.ID == req.pathID })
	if at < 0 {
		return i, who, model.ErrNotFound
	}
	return list[at], who, nil
}

// acceptInvitation gives who looks the role that they are invited to.
func (req *request) acceptInvitation() error {
	i, who, err := req.answered()
	if err != nil || i.ID == 0 {
		return err
	}
	return req.accept(i, who)
}

func (req *request) accept(i model.UserInvitation, who auth.SessionInfo) error {
	if err := req.Store.AcceptInvitation(req.r.Context(), i, who.User); err != nil {
		return err
	}
	req.SignIn.Sessions.Forget()
	req.redirect("/orgs/" + i.Deployment.Slug + "/overview")
	return nil
}

// declineInvitation takes an invitation off the list.
func (req *request) declineInvitation() error {
	i, _, err := req.answered()
	if err != nil || i.ID == 0 {
		return err
	}
	if err := req.Store.DeclineInvitation(req.r.Context(), i); err != nil {
		return err
	}
	req.redirect(invitationsPath)
	return nil
}

// joinView is the page behind the link of an invitation.
type joinView struct {
	model.UserInvitation
	As    string // who is signed in; empty: nobody
	Here  string // the path of the page
	Fault string
	Least int
}

// joining finds the invitation that the address names.
func (req *request) joining() (s joinView, who auth.SessionInfo, err error) {
	if req.SignIn == nil {
		return s, who, model.ErrNotFound
	}
	s.Least, s.Here = auth.MinPassword, req.r.URL.Path
	s.UserInvitation, err = req.Store.InvitationByCode(req.r.Context(), auth.CodeHash(req.r.PathValue("code")))
	if errors.Is(err, model.ErrNotFound) {
		return s, who, errLink
	}
	if err != nil {
		return s, who, err
	}
	who, err = req.SignIn.session(req.r)
	if errors.Is(err, ErrNotSignedIn) {
		return s, who, nil
	}
	s.As = who.User.Name
	return s, who, err
}

// join shows who invites where, and the two ways to accept.
func (req *request) join() error {
	s, _, err := req.joining()
	if err != nil {
		return err
	}
	return req.showJoin(http.StatusOK, s)
}

func (req *request) showJoin(status int, s joinView) error {
	return req.show(status, pageView{Template: "join", Title: "You are invited", Data: s})
}

// useJoin accepts an invitation by its link: for who is signed in, else for the
// user whom it makes.
func (req *request) useJoin(form url.Values) error {
	s, who, err := req.joining()
	if err != nil {
		return err
	}
	if s.As != "" {
		return req.accept(s.UserInvitation, who)
	}
	hash, err := req.newPassword(form.Get("password"), form.Get("again"), model.User{
		Name:        s.NewName,
		DisplayName: s.DisplayName,
	}, s.Deployment.Slug, s.Deployment.Name)
	var u model.User
	if err == nil {
		u, err = req.Store.JoinByInvitation(req.r.Context(), s.UserInvitation, hash)
	}
	if errors.Is(err, model.ErrNotFound) {
		return errLink
	}
	if said, ok := sayable(err); ok {
		s.Fault = said
		return req.showJoin(http.StatusBadRequest, s)
	}
	if err != nil {
		return err
	}
	secret, err := req.SignIn.Sessions.Begin(req.r.Context(), u.ID, "link", req.SignIn.origin(req.r),
		model.CheckedPassword{})
	return req.begun(secret, err, "/")
}
