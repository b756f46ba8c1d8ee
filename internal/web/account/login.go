package account

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// loginView is the data of the sign-in page.
type loginView struct {
	Name     string // as typed
	Next     string // page to open after sign-in
	Fault    string
	Provider string        // name of the identity provider; empty if there is none
	First    bool          // the server has no user yet
	Passkey  auth.Ceremony // sign-in with a passkey; empty if unsupported
}

// login shows the sign-in page, or redirects a user with a session.
func login(req *ui.Request) error {
	if req.SignIn == nil {
		return model.ErrNotFound
	}
	next := req.HTTP.URL.Query().Get("next")
	_, err := req.SignIn.Session(req.HTTP)
	switch {
	case err == nil:
		req.Redirect(ui.SafeNext(next))
		return nil
	case !errors.Is(err, ui.ErrNotSignedIn):
		return err
	}
	return showLogin(req, http.StatusOK, loginView{Next: ui.SafeNext(next)})
}

func showLogin(req *ui.Request, status int, s loginView) error {
	known, err := req.Store.HasUsers(req.HTTP.Context())
	if err != nil {
		return err
	}
	s.First = !known
	if req.SignIn.Provider != nil {
		s.Provider = req.SignIn.Provider.Title
	}
	if req.SignIn.Passkeys != nil {
		if s.Passkey, err = req.SignIn.Passkeys.RequestPasskey(); err != nil {
			return err
		}
	}
	return req.Show(status, ui.Page{Template: "login", Title: "Sign in", Data: s})
}

// enter signs in with name and password.
func enter(req *ui.Request, form url.Values) error {
	if req.SignIn == nil {
		return model.ErrNotFound
	}
	s := loginView{Name: form.Get("name"), Next: ui.SafeNext(form.Get("next"))}
	secret, err := req.SignIn.Sessions.SignIn(req.HTTP.Context(), s.Name, form.Get("password"),
		req.SignIn.Origin(req.HTTP))
	var busy *auth.BusyError
	switch {
	case errors.As(err, &busy):
		s.Fault = tooMany(req, busy)
		return showLogin(req, http.StatusTooManyRequests, s)
	case errors.Is(err, auth.ErrSignIn):
		if err.Error() != auth.ErrSignIn.Error() {
			req.Logger.WarnContext(req.HTTP.Context(), "failed sign-in not recorded", "cause", err)
		}
		s.Fault = "Wrong username or password. An administrator can create a link to set a new password."
		return showLogin(req, http.StatusUnauthorized, s)
	}
	return begun(req, secret, err, s.Next)
}

// tooMany returns the message about too many attempts and sets Retry-After.
func tooMany(req *ui.Request, busy *auth.BusyError) string {
	seconds := int(math.Ceil(busy.Wait.Seconds()))
	req.Writer.Header().Set("Retry-After", strconv.Itoa(seconds))
	req.Logger.WarnContext(req.HTTP.Context(), "too many sign-in attempts", "address", req.SignIn.Origin(req.HTTP).Address)
	return fmt.Sprintf("Too many attempts. Wait %s, then try again.", ui.Plural(seconds, "second"))
}

// logout ends the session.
func logout(req *ui.Request) error {
	if req.SignIn == nil {
		return model.ErrNotFound
	}
	who, err := req.SignIn.Session(req.HTTP)
	if err == nil {
		err = req.SignIn.Sessions.SignOut(req.HTTP.Context(), who)
	}
	if err != nil && !errors.Is(err, ui.ErrNotSignedIn) {
		return err
	}
	dropHalf(req)
	req.SignIn.SetSessionCookie(req.Writer, req.HTTP, "", -1)
	req.Redirect("/login")
	return nil
}

// signInLink shows the user of a sign-in link. It does not use the link up, as mail programs and
// proxies prefetch links.
func signInLink(req *ui.Request) error {
	if req.SignIn == nil {
		return model.ErrNotFound
	}
	_, u, err := req.Store.Link(req.HTTP.Context(), model.LinkSignIn, auth.CodeHash(req.HTTP.PathValue("code")))
	if errors.Is(err, model.ErrNotFound) {
		return ui.ErrLink
	}
	if err != nil {
		return err
	}
	return req.Show(http.StatusOK, ui.Page{Template: "enter", Title: "Sign in", Data: u.Title()})
}

// enterByLink signs in with a one-time link.
func enterByLink(req *ui.Request) error {
	if req.SignIn == nil {
		return model.ErrNotFound
	}
	l, _, err := req.Store.Link(req.HTTP.Context(), model.LinkSignIn, auth.CodeHash(req.HTTP.PathValue("code")))
	if err == nil {
		var secret string
		secret, err = req.SignIn.Sessions.BeginByLink(req.HTTP.Context(), l, req.SignIn.Origin(req.HTTP))
		err = begun(req, secret, err, "/")
	}
	if errors.Is(err, model.ErrNotFound) || errors.Is(err, auth.ErrSignIn) {
		return ui.ErrLink
	}
	return err
}

// setupView is the data of the page that a one-time link opens. It creates the first administrator
// or sets a password.
type setupView struct {
	Setup       bool // creates an administrator instead of only setting a password
	Name        string
	DisplayName string
	Of          string // slug appended to the name of a new user; empty for none
	Fault       string
	Least       int // minimum length of a password in characters
}

// setupLink returns the link of either kind in the path.
func setupLink(req *ui.Request) (l model.UserLink, u model.User, err error) {
	if req.SignIn == nil {
		return l, u, model.ErrNotFound
	}
	hash := auth.CodeHash(req.HTTP.PathValue("code"))
	for _, kind := range []model.LinkKind{model.LinkSetup, model.LinkReset} {
		l, u, err = req.Store.Link(req.HTTP.Context(), kind, hash)
		if !errors.Is(err, model.ErrNotFound) {
			return l, u, err
		}
	}
	return l, u, ui.ErrLink
}

// setup shows the page of a one-time link.
func setup(req *ui.Request) error {
	l, u, err := setupLink(req)
	if err != nil {
		return err
	}
	s := setupView{Setup: l.Kind == model.LinkSetup, Name: u.Name}
	if s.Of, err = suffix(req, l); err != nil {
		return err
	}
	return showSetup(req, http.StatusOK, s)
}

// suffix returns the slug that is appended to the name of the link's new user. It is empty if the
// server has only one deployment.
func suffix(req *ui.Request, l model.UserLink) (string, error) {
	all, err := req.Store.Deployments(req.HTTP.Context())
	if err != nil || len(all) < 2 || l.Kind != model.LinkSetup {
		return "", err
	}
	at := slices.IndexFunc(all, func(d model.Deployment) bool { return d.ID == l.Deployment })
	if at < 0 {
		return "", ui.ErrLink
	}
	return all[at].Slug, nil
}

func showSetup(req *ui.Request, status int, s setupView) error {
	s.Least = auth.MinPassword
	title := "Set your password"
	if s.Setup {
		title = "Create the first admin"
	}
	return req.Show(status, ui.Page{Template: "setup", Title: title, Data: s})
}

// useLink performs the action of a one-time link and signs in.
func useLink(req *ui.Request, form url.Values) error {
	l, u, err := setupLink(req)
	if err != nil {
		return err
	}
	s := setupView{Setup: l.Kind == model.LinkSetup, Name: u.Name}
	if s.Of, err = suffix(req, l); err != nil {
		return err
	}
	if s.Setup {
		s.Name, s.DisplayName = model.NormalUserName(form.Get("name")), strings.TrimSpace(form.Get("display_name"))
		u, err = s.firstAdmin()
	}
	var about []model.Membership
	if err == nil {
		about, err = req.Store.Memberships(req.HTTP.Context(), u.ID)
	}
	if err == nil {
		u.PasswordHash, err = newPassword(req, form.Get("password"), form.Get("again"), u,
			append(model.NamesOf(about), s.Of)...)
	}
	if err == nil {
		err = applyLink(req, l, &u, form.Get("revoke_tokens") != "")
	}
	if errors.Is(err, model.ErrNotFound) {
		return ui.ErrLink
	}
	if message, ok := ui.InputError(err); ok {
		s.Fault = message
		return showSetup(req, http.StatusBadRequest, s)
	}
	if err != nil {
		return err
	}
	secret, err := req.SignIn.Sessions.Begin(req.HTTP.Context(), u.ID, "link", req.SignIn.Origin(req.HTTP),
		model.CheckedPassword{})
	return begun(req, secret, err, "/")
}

// firstAdmin returns the user that a setup link creates.
func (s setupView) firstAdmin() (model.User, error) {
	u := model.User{Name: s.Name, DisplayName: s.DisplayName}
	if s.Of == "" {
		return u, nil
	}
	u.Name = model.NewUserName(s.Name, s.Of)
	return u, model.CheckNewUserName(s.Name, s.Of)
}

func applyLink(req *ui.Request, l model.UserLink, u *model.User, revokeTokens bool) (err error) {
	if l.Kind == model.LinkSetup {
		*u, err = req.Store.UseSetupLink(req.HTTP.Context(), l, *u)
		return err
	}
	return req.Store.UseResetLink(req.HTTP.Context(), l, u.PasswordHash, revokeTokens)
}

// newPassword checks a new password, typed twice, and returns its hash. about lists further words
// that the password must not be based on, such as deployment names.
func newPassword(req *ui.Request, password, repeated string, u model.User, about ...string) (string, error) {
	if err := errors.Join(model.CheckUserName(u.Name), model.CheckDisplayName(u.DisplayName)); err != nil {
		return "", err
	}
	if password != repeated {
		return "", model.Invalid("again", "the passwords do not match")
	}
	if err := auth.CheckPassword(password, u.Name, append(about, u.DisplayName)...); err != nil {
		return "", err
	}
	return req.SignIn.Sessions.Passwords().Hash(req.HTTP.Context(), password)
}
