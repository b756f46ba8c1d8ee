package account

import (
	"errors"
	"net/http"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/web/ui"
)

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

// again asks who somebody is who is signed in.
func again(req *ui.Request) error {
	me, err := ui.CurrentSession(req)
	if err != nil || me.Session.ID == 0 {
		return err
	}
	return showReauth(req, http.StatusOK, againView{Next: ui.SafeNext(req.HTTP.URL.Query().Get("next"))}, me)
}

func showReauth(req *ui.Request, status int, s againView, me auth.SessionInfo) error {
	s.Name, s.CodeOnly = me.User.Name, codeOnly(me)
	if me.User.PasswordHash == "" && !s.CodeOnly && req.SignIn.Provider != nil {
		s.Provider = req.SignIn.Provider.Title
	}
	return req.Show(status, ui.Page{Template: "again", Title: "Show that it is you", Data: s})
}

// codeOnly reports whether somebody has nothing to show but a second factor: they
// came by a link.
func codeOnly(me auth.SessionInfo) bool {
	return me.User.PasswordHash == "" && me.User.HasSecondFactor() && !me.Session.ByProvider()
}

// proveByPassword begins a new session in the place of the one that asks.
func proveByPassword(req *ui.Request) error {
	me, form, err := sentForm(req)
	if err != nil || me.Session.ID == 0 {
		return err
	}
	s := againView{Next: ui.SafeNext(form.Get("next"))}
	sessions, from := req.SignIn.Sessions, req.SignIn.Origin(req.HTTP)
	var secret string
	if codeOnly(me) {
		if err = sessions.Admit(me.User.Name, from); err == nil {
			secret, err = sessions.Begin(req.HTTP.Context(), me.User.ID, "link", from, model.CheckedPassword{})
		}
	} else {
		secret, err = sessions.SignIn(req.HTTP.Context(), me.User.Name, form.Get("password"), from)
	}
	var busy *auth.BusyError
	switch {
	case errors.As(err, &busy):
		s.Fault = tooMany(req, busy)
		return showReauth(req, http.StatusTooManyRequests, s, me)
	case errors.Is(err, auth.ErrSignIn):
		s.Fault = "That is not your password."
		return showReauth(req, http.StatusUnauthorized, s, me)
	}
	return begun(req, secret, err, s.Next)
}
