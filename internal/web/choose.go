package web

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
)

const (
	// choosePath is the page where people with several deployments say which one
	// they mean.
	choosePath = "/choose"
	// chosenSeconds is how long a browser remembers the choice.
	chosenSeconds = 400 * 24 * 3600
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

func (s *SignIn) chosenName(r *http.Request) string { return s.cookieName(r) + "-deployment" }

// chosen is the deployment that somebody means who names none: their only one, or
// the one that they chose last, in this browser. No role says that they have to
// choose. It is never the first by some order: whoever makes a deployment could
// come first.
func (s *SignIn) chosen(r *http.Request, v auth.SessionInfo) (model.Deployment, model.Role) {
	if len(v.Memberships) == 1 {
		return v.Memberships[0].Deployment, v.Memberships[0].Role
	}
	// They are asked each time: a scanner that is let into the wrong one reports there.
	if strings.HasSuffix(r.Pattern, approvePath) || strings.HasSuffix(r.Pattern, authorizePath) ||
		strings.HasSuffix(r.Pattern, devicePath) {
		return model.Deployment{}, model.RoleNone
	}
	return s.lastChoice(r, v)
}

// lastChoice is the deployment that was chosen last, if it is still theirs.
func (s *SignIn) lastChoice(r *http.Request, v auth.SessionInfo) (model.Deployment, model.Role) {
	cookie, err := r.Cookie(s.chosenName(r))
	if err != nil {
		return model.Deployment{}, model.RoleNone
	}
	return v.Role(cookie.Value)
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

// currentSession is the session of who looks at a page that is below no deployment.
// Nobody is led to the sign-in, and then the session has no id.
func currentSession(req *request) (auth.SessionInfo, error) {
	if req.SignIn == nil {
		return auth.SessionInfo{}, model.ErrNotFound
	}
	me, err := req.SignIn.session(req.r)
	if errors.Is(err, ErrNotSignedIn) {
		req.lead(signIn(req.next()))
		return auth.SessionInfo{}, nil
	}
	return me, err
}

// sent returns who is signed in, and the form that they sent. Where nobody is, who
// has no session.
func sent(req *request) (me auth.SessionInfo, form url.Values, err error) {
	if me, err = currentSession(req); err != nil || me.Session.ID == 0 {
		return me, nil, err
	}
	form, err = req.form()
	return me, form, err
}
