package account

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/ui"
)

const (
	appPath           = ui.SecondFactorPath + "/app"
	recoveryCodesPath = ui.SecondFactorPath + "/recovery-codes"
)

// secondFactorView is the data of the page about the viewer's second factor.
type secondFactorView struct {
	User        model.User
	HasApp      bool // an authenticator app is set up
	Passkeys    []model.Passkey
	Origin      string   // address that passkeys are bound to; empty if unsupported
	Codes       int      // unused recovery codes
	HasPassword bool     // the password is required to remove the factor
	ByProvider  bool     // an identity provider manages the second factor
	Required    []string // deployments that require a second factor
	Next        string
	Done        *ui.Message
	Fault       string
}

// secondFactor shows the viewer's second factor.
func secondFactor(req *ui.Request) error { return showSecondFactor(req, http.StatusOK, "") }

func showSecondFactor(req *ui.Request, status int, fault string) error {
	me, err := ui.CurrentSession(req)
	if err != nil || me.Session.ID == 0 {
		return err
	}
	q := req.HTTP.URL.Query()
	s := secondFactorView{
		User: me.User, HasPassword: me.User.PasswordHash != "", ByProvider: me.Session.ByProvider(),
		Next: ui.SafeNext(q.Get("next")), Done: ui.DoneMessage(done, q.Get("done")), Fault: fault,
	}
	for _, m := range me.Memberships {
		if m.Deployment.SecondFactor {
			s.Required = append(s.Required, m.Deployment.Name)
		}
	}
	if req.SignIn.Passkeys != nil {
		s.Origin = req.SignIn.Passkeys.Origin()
	}
	if s.HasApp, err = hasApp(req, me.User.ID); err != nil {
		return err
	}
	if s.Passkeys, err = req.Store.Passkeys(req.HTTP.Context(), me.User.ID); err != nil {
		return err
	}
	if s.Codes, err = req.Store.RecoveryCodes(req.HTTP.Context(), me.User.ID); err != nil {
		return err
	}
	return req.Show(status, ui.Page{Template: "second-factor", Title: "Second factor", Data: s})
}

// hasApp reports whether a user has an authenticator app.
func hasApp(req *ui.Request, userID int64) (bool, error) {
	_, err := req.Store.TOTP(req.HTTP.Context(), userID)
	if errors.Is(err, model.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// appView is the data of the page that sets up an authenticator app.
type appView struct {
	auth.Enrolment
	QR    qrCode
	Name  string
	Next  string
	Fault string
}

// Grouped returns the secret in groups of four, which are easier to type.
func (s appView) Grouped() string {
	var b strings.Builder
	for i, r := range s.Secret {
		if i > 0 && i%4 == 0 {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// issuer returns the name of this server in authenticator apps.
func issuer(req *ui.Request) string {
	host, err := url.Parse(req.BaseURL())
	if err != nil || host.Hostname() == "" {
		return "Redoubt"
	}
	return "Redoubt " + host.Hostname()
}

// startApp creates a secret. It is stored only after the user has entered a code of it.
func startApp(req *ui.Request) error {
	me, err := ui.CurrentSession(req)
	if err != nil || me.Session.ID == 0 {
		return err
	}
	has, err := hasApp(req, me.User.ID)
	if err != nil {
		return err
	}
	if has || me.Session.ByProvider() {
		req.Redirect(ui.SecondFactorPath)
		return nil
	}
	s := appView{Name: me.User.Name, Next: ui.SafeNext(req.HTTP.URL.Query().Get("next"))}
	if s.Enrolment, err = req.SignIn.Factors.Start(me, issuer(req)); err != nil {
		return err
	}
	return showApp(req, http.StatusOK, s)
}

func showApp(req *ui.Request, status int, s appView) (err error) {
	if s.QR, err = newQRCode(s.Address); err != nil {
		return err
	}
	return req.Show(status, ui.Page{Template: "authenticator", Title: "Set up an authenticator app", Data: s})
}

// setUpApp checks the first code and redirects to the recovery codes.
func setUpApp(req *ui.Request) error {
	me, form, err := sentForm(req)
	if err != nil || me.Session.ID == 0 {
		return err
	}
	if me.Session.ByProvider() {
		return model.Invalid("code", "not available for users of an identity provider")
	}
	s := appView{Name: me.User.Name, Next: ui.SafeNext(form.Get("next"))}
	var secret string
	var codes []string
	if s.Enrolment, err = req.SignIn.Factors.Resume(me, issuer(req), form.Get("sealed")); err == nil {
		secret, codes, err = req.SignIn.Factors.SetUp(req.HTTP.Context(), me, s.Enrolment, form.Get("code"),
			req.SignIn.Origin(req.HTTP))
	}
	if errors.Is(err, auth.ErrCode) {
		s.Fault = "Wrong code. Check that the clock of the device is correct, and enter the current code."
		return showApp(req, http.StatusBadRequest, s)
	}
	if message, ok := ui.InputError(err); ok {
		return showSecondFactor(req, http.StatusBadRequest, message)
	}
	if err != nil {
		return err
	}
	renew(req, secret)
	return showCodes(req, me, s.Next, codes)
}

// renew stores the session that replaced all others in the browser.
func renew(req *ui.Request, secret string) {
	req.SignIn.Sessions.Forget()
	req.SignIn.SetSessionCookie(req.Writer, req.HTTP, secret, int(req.SignIn.Sessions.Limits().Max.Seconds()))
}

// showCodes redirects to the page that shows the recovery codes once.
func showCodes(req *ui.Request, me auth.SessionInfo, next string, codes []string) error {
	req.Viewer.User = me.User.Name
	req.ShowOnce(recoveryCodesPath, me.User.ID, next+"\n"+strings.Join(codes, "\n"))
	return nil
}

// codesView is the data of the page that shows recovery codes.
type codesView struct {
	Codes []string
	Next  string
}

// recoveryCodes shows newly created recovery codes.
func recoveryCodes(req *ui.Request) error {
	me, err := ui.CurrentSession(req)
	if err != nil || me.Session.ID == 0 {
		return err
	}
	req.Viewer.User = me.User.Name
	s := codesView{Next: "/"}
	if _, text := req.ShownOnce(recoveryCodesPath); text != "" {
		lines := strings.Split(text, "\n")
		s = codesView{Codes: lines[1:], Next: ui.SafeNext(lines[0])}
	}
	return req.Show(http.StatusOK, ui.Page{Template: "recovery-codes", Title: "Recovery codes", Data: s})
}

// newRecoveryCodes replaces the viewer's recovery codes.
func newRecoveryCodes(req *ui.Request) error {
	me, err := ui.CurrentSession(req)
	if err != nil || me.Session.ID == 0 {
		return err
	}
	secret, codes, err := req.SignIn.Factors.NewRecoveryCodes(req.HTTP.Context(), me)
	if message, ok := ui.InputError(err); ok {
		return showSecondFactor(req, http.StatusConflict, message)
	}
	if err != nil {
		return err
	}
	renew(req, secret)
	return showCodes(req, me, ui.SecondFactorPath, codes)
}

// removeSecondFactor removes the second factor. It always requires password and code, however
// recent the last authentication is.
func removeSecondFactor(req *ui.Request) error {
	me, form, err := sentForm(req)
	if err != nil || me.Session.ID == 0 {
		return err
	}
	secret, err := req.SignIn.Factors.Remove(req.HTTP.Context(), me, form.Get("password"), form.Get("code"),
		req.SignIn.Origin(req.HTTP))
	if errors.Is(err, auth.ErrSignIn) {
		return showSecondFactor(req, http.StatusUnauthorized, "Wrong password.")
	}
	if message, status := codeFault(req, err, codeFaultText); message != "" {
		return showSecondFactor(req, status, message)
	}
	if errors.Is(err, auth.ErrUnauthenticated) { // removed by a concurrent request
		err = model.ErrConflict
	}
	if err != nil {
		return err
	}
	renew(req, secret)
	req.Redirect(ui.SecondFactorPath + "?done=second-factor-removed")
	return nil
}

// requireSecondFactor sets whether the deployment requires a second factor.
func requireSecondFactor(req *ui.Request, form url.Values) error {
	require, word := form.Get("require") == "on", "second-factor-free"
	if require {
		word = "second-factor-required"
	}
	return changed(req, word, req.Update(func(ctx context.Context, tx *store.Tx) error {
		return tx.RequireSecondFactor(ctx, require)
	}))
}

// resetSecondFactor removes the lost second factor of a user.
func resetSecondFactor(req *ui.Request) error {
	m, err := member(req)
	if err == nil {
		err = ours(req, m)
	}
	if err != nil {
		return err
	}
	if m.Name == req.Viewer.User { // a stolen session must not bypass password and code
		return changed(req,
			"", model.Invalid("second factor", "remove your own at /second-factor, with your password and a code"),
		)
	}
	within, err := administers(req)
	if err != nil {
		return err
	}
	return changed(req,
		"second-factor-reset", req.Store.ResetSecondFactor(req.HTTP.Context(), m.ID, within, req.Viewer.Actor()),
	)
}
