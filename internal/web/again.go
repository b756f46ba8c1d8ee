package web

import (
	"errors"
	"net/http"
	"net/url"
	"path"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
)

// againPath is where who is signed in shows once more who they are.
const againPath = "/login/again"

// methodAnew is how a session began whose person the provider has just asked who
// they are, and not only recognised.
const methodAnew = "oidc anew"

// againView is the page to show it on.
type againView struct {
	Name  string
	Next  string
	Fault string
	// Provider is what the other way to show it is called; empty where there is a
	// password.
	Provider string
	// CodeOnly is whether there is a second factor and no password before it.
	CodeOnly bool
}

// proven has what matters most done only within auth.ProofFor of the proof that a
// session began with: whoever finds a browser open, or steals its session, cannot
// stay for good by it.
func proven(handle func(*request) error) func(*request) error {
	return func(req *request) error {
		if req.SignIn != nil && req.viewer.User == "" { // a page below no deployment, which has asked nobody yet
			if me, err := currentSession(req); err != nil || me.Session.ID == 0 {
				return err
			}
		}
		lately, err := proved(req)
		if err != nil {
			return err
		}
		if !lately {
			req.lead(againPath + "?next=" + url.QueryEscape(cameFrom(req)))
			return nil
		}
		return handle(req)
	}
}

// cameFrom is the page to go back to afterwards: the one itself that is asked for,
// or the one that a form was sent from. A form may stand on the answer to another,
// whose address only takes forms: then it is the nearest page above.
func cameFrom(req *request) string {
	if req.r.Method == get {
		return req.next()
	}
	from, err := url.Parse(req.r.Referer())
	if err != nil || from.Path == "" || safeNext(from.RequestURI()) == "/" {
		return "/"
	}
	for from.Path != "/" {
		if req.isPage(from.Path) {
			return from.RequestURI()
		}
		from = &url.URL{Path: path.Dir(from.Path)}
	}
	return "/"
}

// isPage reports whether the table has a page at a path.
func (p *Pages) isPage(at string) bool {
	_, pattern := p.mux.Handler(&http.Request{Method: get, URL: &url.URL{Path: at}})
	return pattern != "" && pattern != "/"
}

// proved reports whether the viewer showed lately who they are. Who has nothing to
// show it with, neither a password nor a provider, came by a link and is not asked.
func proved(req *request) (bool, error) {
	if req.SignIn == nil { // somebody else signs people in
		return true, nil
	}
	me, err := me(req)
	if err != nil {
		return false, err
	}
	if me.User.PasswordHash == "" && req.SignIn.Provider == nil && !me.User.HasSecondFactor() {
		return true, nil
	}
	return me.Session.Method != "oidc" && req.Clock().Sub(me.Session.CreatedAt) <= auth.ProofFor, nil
}

// again asks who somebody is who is signed in.
func again(req *request) error {
	me, err := currentSession(req)
	if err != nil || me.Session.ID == 0 {
		return err
	}
	return showAgain(req, http.StatusOK, againView{Next: safeNext(req.r.URL.Query().Get("next"))}, me)
}

func showAgain(req *request, status int, s againView, me auth.SessionInfo) error {
	s.Name, s.CodeOnly = me.User.Name, codeOnly(me)
	if me.User.PasswordHash == "" && !s.CodeOnly && req.SignIn.Provider != nil {
		s.Provider = req.SignIn.Provider.Title
	}
	return req.show(status, pageView{Template: "again", Title: "Show that it is you", Data: s})
}

// codeOnly reports whether somebody has nothing to show but a second factor: they
// came by a link.
func codeOnly(me auth.SessionInfo) bool {
	return me.User.PasswordHash == "" && me.User.HasSecondFactor() && !me.Session.ByProvider()
}

// proveByPassword begins a new session in the place of the one that asks.
func proveByPassword(req *request) error {
	me, form, err := sent(req)
	if err != nil || me.Session.ID == 0 {
		return err
	}
	s := againView{Next: safeNext(form.Get("next"))}
	sessions, from := req.SignIn.Sessions, req.SignIn.origin(req.r)
	var secret string
	if codeOnly(me) {
		if err = sessions.Admit(me.User.Name, from); err == nil {
			secret, err = sessions.Begin(req.r.Context(), me.User.ID, "link", from, model.CheckedPassword{})
		}
	} else {
		secret, err = sessions.SignIn(req.r.Context(), me.User.Name, form.Get("password"), from)
	}
	var busy *auth.BusyError
	switch {
	case errors.As(err, &busy):
		s.Fault = tooMany(req, busy)
		return showAgain(req, http.StatusTooManyRequests, s, me)
	case errors.Is(err, auth.ErrSignIn):
		s.Fault = "That is not your password."
		return showAgain(req, http.StatusUnauthorized, s, me)
	}
	return begun(req, secret, err, s.Next)
}
