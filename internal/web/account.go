package web

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/auth"
)

// accountSheet is what people see of their own account.
type accountSheet struct {
	User        redoubt.User
	Memberships []redoubt.Membership
	Sessions    []redoubt.Session
	Current     int64 // the session that looks
	HasPassword bool
	Least       int
	Done        string
	Fault       string
}

// done says what was done before a page was opened, by the word in its address.
var done = map[string]string{
	"password":      "Your password is changed. Everywhere else you are signed out.",
	"session":       "That session is over.",
	"token-revoked": "The token is revoked; it is refused within a second.",
	"user-role":     "The role is changed. The user has to sign in again.",
	"user-removed":  "The user has no role here any more; tokens made here are revoked.",
	"user-disabled": "The user is disabled: sessions ended, tokens are revoked.",
	"user-enabled":  "The user may sign in again. Tokens that were revoked stay so.",
}

// me is the session of the viewer.
func (v *visit) me() (auth.SessionInfo, error) {
	if v.SignIn == nil {
		return auth.SessionInfo{}, redoubt.ErrNotFound
	}
	return v.SignIn.session(v.r)
}

func (v *visit) account() error { return v.showAccount(http.StatusOK, "") }

func (v *visit) showAccount(status int, fault string) error {
	me, err := v.me()
	if err != nil {
		return err
	}
	s := accountSheet{
		User: me.User, Memberships: me.Memberships, Current: me.Session.ID, HasPassword: me.User.PasswordHash != "",
		Least: redoubt.MinPassword, Done: done[v.r.URL.Query().Get("done")], Fault: fault,
	}
	if s.Sessions, err = v.Store.Sessions(v.r.Context(), me.User.ID); err != nil {
		return err
	}
	return v.show(status, sheet{Template: "account", Title: "Your account", Section: "account", Data: s})
}

// changePassword asks for the old one first, as often as sign-in does.
func (v *visit) changePassword() error {
	me, err := v.me()
	if err != nil {
		return err
	}
	form, err := v.form()
	if err != nil {
		return err
	}
	sessions, from := v.SignIn.Sessions, v.SignIn.origin(v.r)
	var busy *auth.BusyError
	if err := sessions.Admit(me.User.Name, from); errors.As(err, &busy) {
		return v.showAccount(http.StatusTooManyRequests, strings.ToUpper(busy.Error()[:1])+busy.Error()[1:]+".")
	}
	ok, _, err := sessions.Passwords().Check(v.r.Context(), me.User.PasswordHash, form.Get("current"))
	if err != nil {
		return err
	}
	if !ok {
		attempt := redoubt.Attempt{Name: me.User.Name, Method: "password", Address: from.Address, Agent: from.Agent, Reason: "wrong password, to change it"}
		if err := v.Store.SignInFailed(v.r.Context(), attempt); err != nil {
			return err
		}
		return v.showAccount(http.StatusBadRequest, "That is not your current password.")
	}
	hash, err := v.newPassword(form.Get("password"), form.Get("again"), me.User)
	if said, ok := sayable(err); ok {
		return v.showAccount(http.StatusBadRequest, said)
	}
	if err == nil {
		err = v.Store.SetPassword(v.r.Context(), me.User.ID, hash, v.viewer.Actor())
	}
	if err != nil {
		return err
	}
	secret, err := sessions.Begin(v.r.Context(), me.User.ID, "password", from, redoubt.CheckedPassword{})
	if err != nil {
		return err
	}
	return v.welcome(secret, v.to("/account?done=password"))
}

// endSession ends another session of the viewer.
func (v *visit) endSession() error {
	me, err := v.me()
	if err != nil {
		return err
	}
	id, err := v.id()
	if err != nil {
		return err
	}
	if err := v.Store.EndSession(v.r.Context(), me.User.ID, id); err != nil {
		return err
	}
	v.SignIn.Sessions.Forget()
	v.redirect(v.to("/account?done=session"))
	return nil
}

// signOutEverywhere ends all sessions of the viewer, this one too.
func (v *visit) signOutEverywhere() error {
	me, err := v.me()
	if err != nil {
		return err
	}
	if err := v.Store.EndSessions(v.r.Context(), me.User.ID, v.viewer.Actor()); err != nil {
		return err
	}
	v.SignIn.Sessions.Forget()
	v.SignIn.keep(v.w, v.r, "", -1)
	v.redirect("/login")
	return nil
}

// browserName is what a browser calls itself, in two words.
func browserName(agent string) string {
	find := func(words [][2]string, other string) string {
		for _, w := range words {
			if strings.Contains(agent, w[0]) {
				return w[1]
			}
		}
		return other
	}
	name := find([][2]string{{"Edg/", "Edge"}, {"OPR/", "Opera"}, {"Firefox/", "Firefox"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"}, {"curl/", "curl"}}, "Another browser")
	system := find([][2]string{{"Android", "Android"}, {"iPhone", "iOS"}, {"iPad", "iOS"}, {"Windows", "Windows"}, {"Mac OS", "macOS"}, {"Linux", "Linux"}}, "")
	if system == "" {
		return name
	}
	return fmt.Sprintf("%s on %s", name, system)
}
