package web

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/auth"
)

// loginSheet is the page to sign in on.
type loginSheet struct {
	Name     string // as typed
	Next     string // where to go afterwards
	Fault    string
	Provider string // what the other way to sign in is called; empty: there is none
	First    bool   // there is no user yet
}

// login shows the page, or leads on who is signed in already.
func (v *visit) login() error {
	if v.SignIn == nil {
		return redoubt.ErrNotFound
	}
	next := v.r.URL.Query().Get("next")
	_, err := v.SignIn.session(v.r)
	switch {
	case err == nil:
		v.redirect(safeNext(next))
		return nil
	case !errors.Is(err, ErrNotSignedIn):
		return err
	}
	return v.showLogin(http.StatusOK, loginSheet{Next: safeNext(next)})
}

func (v *visit) showLogin(status int, s loginSheet) error {
	known, err := v.Store.HasUsers(v.r.Context())
	if err != nil {
		return err
	}
	s.First = !known
	if v.SignIn.Provider != nil {
		s.Provider = v.SignIn.Provider.Title
	}
	return v.show(status, sheet{Template: "login", Title: "Sign in", Data: s})
}

// enter signs in by name and password.
func (v *visit) enter() error {
	if v.SignIn == nil {
		return redoubt.ErrNotFound
	}
	form, err := v.form()
	if err != nil {
		return err
	}
	s := loginSheet{Name: form.Get("name"), Next: safeNext(form.Get("next"))}
	secret, err := v.SignIn.Sessions.SignIn(v.r.Context(), s.Name, form.Get("password"), v.SignIn.origin(v.r))
	var busy *auth.BusyError
	switch {
	case err == nil:
		return v.welcome(secret, s.Next)
	case errors.As(err, &busy):
		seconds := int(math.Ceil(busy.Wait.Seconds()))
		v.w.Header().Set("Retry-After", strconv.Itoa(seconds))
		v.Logger.WarnContext(v.r.Context(), "too many tries to sign in", "address", v.SignIn.origin(v.r).Address)
		s.Fault = fmt.Sprintf("There were too many tries. Wait %s, then try again.", plural(seconds, "second"))
		return v.showLogin(http.StatusTooManyRequests, s)
	case errors.Is(err, auth.ErrSignIn):
		if err.Error() != auth.ErrSignIn.Error() {
			v.Logger.WarnContext(v.r.Context(), "a failed sign-in was not noted", "cause", err)
		}
		s.Fault = "Name and password do not fit. An admin can make you a link to set a new password."
		return v.showLogin(http.StatusUnauthorized, s)
	}
	return err
}

// leave signs out.
func (v *visit) leave() error {
	if v.SignIn == nil {
		return redoubt.ErrNotFound
	}
	who, err := v.SignIn.session(v.r)
	if err == nil {
		err = v.SignIn.Sessions.SignOut(v.r.Context(), who)
	}
	if err != nil && !errors.Is(err, ErrNotSignedIn) {
		return err
	}
	v.SignIn.keep(v.w, v.r, "", -1)
	v.redirect("/login")
	return nil
}

// enterByLink signs in by a link that works once.
func (v *visit) enterByLink() error {
	if v.SignIn == nil {
		return redoubt.ErrNotFound
	}
	v.unsaved()
	l, _, err := v.Store.Link(v.r.Context(), redoubt.LinkSignIn, auth.CodeHash(v.r.PathValue("code")))
	if err == nil {
		var secret string
		if secret, err = v.SignIn.Sessions.BeginByLink(v.r.Context(), l, v.SignIn.origin(v.r)); err == nil {
			return v.welcome(secret, "/")
		}
	}
	if errors.Is(err, redoubt.ErrNotFound) || errors.Is(err, auth.ErrSignIn) {
		return errLink
	}
	return err
}

// setupSheet is the page behind a one-time link: to make the first admin, or to
// set a password.
type setupSheet struct {
	Setup       bool // make an admin, not only a password
	Name        string
	DisplayName string
	Fault       string
	Least       int // characters of a password
}

// setupLink finds the link that the address names, of either kind.
func (v *visit) setupLink() (l redoubt.UserLink, u redoubt.User, err error) {
	if v.SignIn == nil {
		return l, u, redoubt.ErrNotFound
	}
	v.unsaved()
	hash := auth.CodeHash(v.r.PathValue("code"))
	for _, kind := range []redoubt.LinkKind{redoubt.LinkSetup, redoubt.LinkReset} {
		l, u, err = v.Store.Link(v.r.Context(), kind, hash)
		if !errors.Is(err, redoubt.ErrNotFound) {
			return l, u, err
		}
	}
	return l, u, errLink
}

// setup shows what a one-time link is for.
func (v *visit) setup() error {
	l, u, err := v.setupLink()
	if err != nil {
		return err
	}
	return v.showSetup(http.StatusOK, setupSheet{Setup: l.Kind == redoubt.LinkSetup, Name: u.Name})
}

func (v *visit) showSetup(status int, s setupSheet) error {
	s.Least = redoubt.MinPassword
	title := "Set your password"
	if s.Setup {
		title = "Make the first admin"
	}
	return v.show(status, sheet{Template: "setup", Title: title, Data: s})
}

// useLink does what a one-time link is for, and signs in.
func (v *visit) useLink() error {
	l, u, err := v.setupLink()
	if err != nil {
		return err
	}
	form, err := v.form()
	if err != nil {
		return err
	}
	s := setupSheet{Setup: l.Kind == redoubt.LinkSetup, Name: u.Name}
	if s.Setup {
		s.Name, s.DisplayName = redoubt.NormalUserName(form.Get("name")), strings.TrimSpace(form.Get("display_name"))
		u = redoubt.User{Name: s.Name, DisplayName: s.DisplayName}
	}
	if u.PasswordHash, err = v.newPassword(form.Get("password"), form.Get("again"), u); err == nil {
		err = v.applyLink(l, &u)
	}
	if errors.Is(err, redoubt.ErrNotFound) {
		return errLink
	}
	if said, ok := sayable(err); ok {
		s.Fault = said
		return v.showSetup(http.StatusBadRequest, s)
	}
	if err != nil {
		return err
	}
	secret, err := v.SignIn.Sessions.Begin(v.r.Context(), u.ID, "link", v.SignIn.origin(v.r), redoubt.CheckedPassword{})
	if err != nil {
		return err
	}
	return v.welcome(secret, "/")
}

func (v *visit) applyLink(l redoubt.UserLink, u *redoubt.User) (err error) {
	if l.Kind == redoubt.LinkSetup {
		*u, err = v.Store.UseSetupLink(v.r.Context(), l, *u)
		return err
	}
	return v.Store.UseResetLink(v.r.Context(), l, u.PasswordHash)
}

// newPassword checks a new password, typed twice, and returns its hash.
func (v *visit) newPassword(password, again string, u redoubt.User) (string, error) {
	if err := errors.Join(redoubt.CheckUserName(u.Name), redoubt.CheckDisplayName(u.DisplayName)); err != nil {
		return "", err
	}
	if password != again {
		return "", redoubt.Invalid("again", "the two passwords differ")
	}
	if err := redoubt.CheckPassword(password, u.Name); err != nil {
		return "", err
	}
	return v.SignIn.Sessions.Passwords().Hash(v.r.Context(), password)
}

// sayable is what a form says about an error that whoever filled it in can mend.
func sayable(err error) (string, bool) {
	if invalid, ok := errors.AsType[*redoubt.InvalidError](err); ok {
		return strings.ReplaceAll(invalid.Error(), "_", " "), true
	}
	if errors.Is(err, redoubt.ErrConflict) {
		return strings.TrimSuffix(err.Error(), ": "+redoubt.ErrConflict.Error()), true
	}
	return "", false
}
