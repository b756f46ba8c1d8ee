package web

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// chooseView is the deployments to choose from.
type chooseView struct {
	Memberships []model.Membership
	Last        string // slug of the last choice
	Next        string
	Approve     bool // what is chosen is where a scanner reports to
	Program     bool // what is chosen is what a program gets a token of
	Invitations int
}

// choose shows the deployments of who is signed in.
func choose(req *request) error {
	me, err := currentSession(req)
	if err != nil || me.Session.ID == 0 {
		return err
	}
	s := chooseView{Memberships: me.Memberships, Next: safeNext(req.r.URL.Query().Get("next"))}
	s.Approve = strings.HasPrefix(s.Next, "/orgs/-/approve/")
	s.Program = strings.HasPrefix(s.Next, "/orgs/-"+authorizePath) || strings.HasPrefix(s.Next, "/orgs/-"+devicePath)
	last, _ := req.SignIn.lastChoice(req.r, me)
	s.Last = last.Slug
	invited, err := req.Store.InvitationsFor(req.r.Context(), me.User.Name)
	if err != nil {
		return err
	}
	s.Invitations = len(invited)
	return req.show(http.StatusOK, pageView{Template: "choose", Title: "Choose a deployment", Data: s})
}

// chooseOne remembers a choice and goes on.
func chooseOne(req *request) error {
	me, form, err := sent(req)
	if err != nil || me.Session.ID == 0 {
		return err
	}
	d, role := me.Role(form.Get("deployment"))
	if role == model.RoleNone {
		return model.ErrNotFound
	}
	http.SetCookie(req.w, &http.Cookie{
		Name: req.SignIn.chosenName(req.r), Value: d.Slug, Path: "/", MaxAge: chosenSeconds, HttpOnly: true,
		Secure: req.SignIn.secure(req.r), SameSite: http.SameSiteLaxMode,
	})
	to := "/orgs/" + d.Slug + "/overview"
	if next, err := url.Parse(safeNext(form.Get("next"))); err == nil && strings.HasPrefix(next.Path, "/orgs/-/") {
		to = under(next, d.Slug)
	}
	req.redirect(to)
	return nil
}
