package account

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// accountView is the data of the account page.
type accountView struct {
	User        model.User
	Memberships []model.Membership
	Sessions    []model.Session
	Current     int64 // id of the viewer's session
	HasPassword bool
	ByLink      bool // the session began with a link
	ByProvider  bool // the session began at an identity provider
	Invitations int  // number of unanswered invitations
	Least       int
	Mails       bool // the server sends mail
	Address     string
	AddressBad  string // why the value of Address was rejected
	Done        *ui.Message
	Fault       string
}

// done contains the notices about completed actions, by the word in the address.
var done = map[string]string{
	"password":        "Password changed. Your other sessions have ended.",
	"password-tokens": "Password changed. Your other sessions have ended, and your tokens are revoked.",
	"session":         "Session ended.",
	"mail":            "Saved.",
	"token-revoked":   "Token revoked. It is rejected within a second.",
	"scanner": "Approved. The scanner receives its token within seconds and continues. The token is " +
		"listed once it is fetched.",
	"program": "Access granted. Return to the application: it continues within seconds. Its token is " +
		"listed once it is fetched.",
	"user-role":            "Role updated.",
	"user-removed":         "User removed from this deployment. Their tokens here are revoked.",
	"user-disabled":        "User disabled. Sessions have ended, and tokens are revoked.",
	"invitation-withdrawn": "Invitation withdrawn. Its link no longer works.",
	"passkey":              "Passkey added.",
	"passkey-removed": "Passkey removed. Your other sessions have ended. Also delete it from " +
		"the device.",
	"second-factor-removed": "Second factor removed. Your other sessions have ended.",
	"second-factor-reset": "Second factor removed. All sessions of the user have ended. A password or " +
		"link is enough to sign in until another one is set up.",
	"second-factor-required": "Two-factor authentication is now required. Users without a second factor must set " +
		"one up on their next page. Tokens keep working.",
	"second-factor-free": "Two-factor authentication is now optional. Users with a second factor still need it.",
	"user-enabled":       "User enabled. Revoked tokens remain revoked.",
}

func account(req *ui.Request) error { return showAccount(req, http.StatusOK, "") }

// changeMail sets the viewer's mail address and whether mail is sent there.
func changeMail(req *ui.Request, form url.Values) error {
	me, err := ui.ViewerSession(req)
	if err != nil {
		return err
	}
	address := strings.TrimSpace(form.Get("address"))
	err = req.Store.SetUserMail(req.HTTP.Context(), me.User.ID, address, !form.Has("told"), req.Viewer.Actor())
	if invalid, ok := errors.AsType[*model.InvalidError](err); ok {
		return accountPage(req, http.StatusBadRequest, accountView{Address: address, AddressBad: invalid.Fields[0].Message})
	}
	return ui.RedirectAfter(req, err, "/account?done=mail")
}

func showAccount(req *ui.Request, status int, fault string) error {
	return accountPage(req, status, accountView{Fault: fault})
}

// accountPage renders the account page with the rejected input.
func accountPage(req *ui.Request, status int, input accountView) error {
	me, err := ui.ViewerSession(req)
	if err != nil {
		return err
	}
	s := accountView{
		Memberships: me.Memberships, Current: me.Session.ID, HasPassword: me.User.PasswordHash != "",
		ByLink: me.Session.ByLink(), ByProvider: me.Session.ByProvider(),
		Least: auth.MinPassword, Done: ui.DoneMessage(done, req.HTTP.URL.Query().Get("done")), Fault: input.Fault,
		Mails: req.Notifier != nil && req.Notifier.Mail.Works(), AddressBad: input.AddressBad,
	}
	if s.User, err = req.Store.User(req.HTTP.Context(), me.User.Name); err != nil { // the session may be outdated
		return err
	}
	if s.Address = s.User.Address; s.AddressBad != "" {
		s.Address = input.Address
	}
	if s.Sessions, err = req.Store.Sessions(req.HTTP.Context(), me.User.ID); err != nil {
		return err
	}
	invited, err := req.Store.InvitationsFor(req.HTTP.Context(), me.User.Name)
	if err != nil {
		return err
	}
	s.Invitations = len(invited)
	return req.Show(status, ui.Page{Template: "account", Title: "Your account", Section: "account", Data: s})
}

// changePassword changes the viewer's password. It requires the current password, with the rate
// limit of sign-in.
func changePassword(req *ui.Request, form url.Values) error {
	me, err := ui.ViewerSession(req)
	if err != nil {
		return err
	}
	sessions, from := req.SignIn.Sessions, req.SignIn.Origin(req.HTTP)
	var busy *auth.BusyError
	err = sessions.CheckPassword(req.HTTP.Context(), me.User, form.Get("current"), from, "password not changed")
	switch {
	case errors.As(err, &busy):
		return showAccount(req, http.StatusTooManyRequests, tooMany(req, busy))
	case errors.Is(err, auth.ErrSignIn):
		return showAccount(req, http.StatusBadRequest, "The current password is wrong.")
	case err != nil:
		return err
	}
	hash, err := newPassword(req, form.Get("password"), form.Get("again"), me.User, model.NamesOf(me.Memberships)...)
	if message, ok := ui.InputError(err); ok {
		return showAccount(req, http.StatusBadRequest, message)
	}
	if err == nil {
		err = req.Store.SetPassword(req.HTTP.Context(), me.User.ID, hash, form.Get("revoke_tokens") != "", req.Viewer.Actor())
	}
	if err != nil {
		return err
	}
	secret, err := sessions.Begin(req.HTTP.Context(), me.User.ID, "password", from, model.CheckedPassword{})
	word := "password"
	if form.Get("revoke_tokens") != "" {
		word = "password-tokens"
	}
	return begun(req, secret, err, req.To("/account?done="+word))
}

// endSession ends another session of the viewer.
func endSession(req *ui.Request) error {
	me, err := ui.ViewerSession(req)
	if err != nil {
		return err
	}
	if err := req.Store.EndSession(req.HTTP.Context(), me.User.ID, req.PathID); err != nil {
		return err
	}
	req.SignIn.Sessions.Forget()
	req.Redirect(req.To("/account?done=session"))
	return nil
}

// signOutEverywhere ends all sessions of the viewer, including the current one.
func signOutEverywhere(req *ui.Request) error {
	me, err := ui.ViewerSession(req)
	if err != nil {
		return err
	}
	if err := req.Store.EndSessions(req.HTTP.Context(), me.User.ID, req.Viewer.Actor()); err != nil {
		return err
	}
	req.SignIn.Sessions.Forget()
	req.SignIn.SetSessionCookie(req.Writer, req.HTTP, "", -1)
	req.Redirect("/login")
	return nil
}
