package account

import (
	"errors"
	"net/http"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// methodReauth is the method of a session for which the provider has just authenticated the user
// again.
const methodReauth = "oidc reauth"

// reauthView is the data of the reauthentication page.
type reauthView struct {
	Name  string
	Next  string
	Fault string
	// Provider is the name of the identity provider; empty if the user has a password.
	Provider string
	// CodeOnly reports whether the user has a second factor but no password.
	CodeOnly bool
}

// reauthPage shows the reauthentication page to a signed-in user.
func reauthPage(req *ui.Request) error {
	me, err := ui.CurrentSession(req)
	if err != nil || me.Session.ID == 0 {
		return err
	}
	return showReauth(req, http.StatusOK, reauthView{Next: ui.SafeNext(req.HTTP.URL.Query().Get("next"))}, me)
}

func showReauth(req *ui.Request, status int, s reauthView, me auth.SessionInfo) error {
	s.Name, s.CodeOnly = me.User.Name, codeOnly(me)
	if me.User.PasswordHash == "" && !s.CodeOnly && req.SignIn.Provider != nil {
		s.Provider = req.SignIn.Provider.Title
	}
	return req.Show(status, ui.Page{Template: "reauth", Title: "Confirm your identity", Data: s})
}

// codeOnly reports whether the user can only authenticate with a second factor. Such users signed
// in by link.
func codeOnly(me auth.SessionInfo) bool {
	return me.User.PasswordHash == "" && me.User.HasSecondFactor() && !me.Session.ByProvider()
}

// proveByPassword authenticates the viewer again and replaces their session.
func proveByPassword(req *ui.Request) error {
	me, form, err := sentForm(req)
	if err != nil || me.Session.ID == 0 {
		return err
	}
	s := reauthView{Next: ui.SafeNext(form.Get("next"))}
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
		s.Fault = "Wrong password."
		return showReauth(req, http.StatusUnauthorized, s, me)
	}
	return begun(req, secret, err, s.Next)
}
