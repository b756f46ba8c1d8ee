package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

const (
	// secondFactorPath is where people set theirs up. It is below no deployment:
	// one may ask for it before it shows anything.
	secondFactorPath  = "/second-factor"
	appPath           = secondFactorPath + "/app"
	recoveryCodesPath = secondFactorPath + "/recovery-codes"
)

// secondFactorView is what people see of their second factor.
type secondFactorView struct {
	User        model.User
	HasApp      bool // an authenticator app
	Passkeys    []model.Passkey
	Origin      string   // the address that passkeys are bound to; empty: there are none here
	Codes       int      // recovery codes that were not used
	HasPassword bool     // which is asked for to take the factor away
	ByProvider  bool     // an identity provider signed them in, whose business it is
	Required    []string // the deployments that ask for one
	Next        string
	Done        *message
	Fault       string
}

// secondFactor shows what somebody has.
func (req *request) secondFactor() error { return req.showSecondFactor(http.StatusOK, "") }

func (req *request) showSecondFactor(status int, fault string) error {
	me, err := req.signedIn()
	if err != nil || me.Session.ID == 0 {
		return err
	}
	q := req.r.URL.Query()
	s := secondFactorView{
		User: me.User, HasPassword: me.User.PasswordHash != "", ByProvider: me.Session.ByProvider(),
		Next: safeNext(q.Get("next")), Done: doneMessage(done, q.Get("done")), Fault: fault,
	}
	for _, m := range me.Memberships {
		if m.Deployment.SecondFactor {
			s.Required = append(s.Required, m.Deployment.Name)
		}
	}
	if req.SignIn.Passkeys != nil {
		s.Origin = req.SignIn.Passkeys.Origin()
	}
	if s.HasApp, err = req.hasApp(me.User.ID); err != nil {
		return err
	}
	if s.Passkeys, err = req.Store.Passkeys(req.r.Context(), me.User.ID); err != nil {
		return err
	}
	if s.Codes, err = req.Store.RecoveryCodes(req.r.Context(), me.User.ID); err != nil {
		return err
	}
	return req.show(status, pageView{Template: "second-factor", Title: "Second factor", Data: s})
}

// hasApp reports whether somebody has an authenticator app.
func (req *request) hasApp(userID int64) (bool, error) {
	_, err := req.Store.TOTP(req.r.Context(), userID)
	if errors.Is(err, model.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// appView is the page on which an authenticator app is set up.
type appView struct {
	auth.Enrolment
	QR    qrCode
	Name  string
	Next  string
	Fault string
}

// Apart is the secret in groups, which are easier to type.
func (s appView) Apart() string {
	var b strings.Builder
	for i, r := range s.Secret {
		if i > 0 && i%4 == 0 {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// issuer is what apps call this server.
func (req *request) issuer() string {
	host, err := url.Parse(req.base())
	if err != nil || host.Hostname() == "" {
		return "Redoubt"
	}
	return "Redoubt " + host.Hostname()
}

// startApp makes a secret, which is kept nowhere before a code of it is shown.
func (req *request) startApp() error {
	me, err := req.signedIn()
	if err != nil || me.Session.ID == 0 {
		return err
	}
	has, err := req.hasApp(me.User.ID)
	if err != nil {
		return err
	}
	if has || me.Session.ByProvider() {
		req.redirect(secondFactorPath)
		return nil
	}
	s := appView{Name: me.User.Name, Next: safeNext(req.r.URL.Query().Get("next"))}
	if s.Enrolment, err = req.SignIn.Factors.Start(me, req.issuer()); err != nil {
		return err
	}
	return req.showApp(http.StatusOK, s)
}

func (req *request) showApp(status int, s appView) (err error) {
	if s.QR, err = newQRCode(s.Address); err != nil {
		return err
	}
	return req.show(status, pageView{Template: "authenticator", Title: "Set up an authenticator app", Data: s})
}

// setUpApp takes the first code, and leads to the recovery codes.
func (req *request) setUpApp() error {
	me, form, err := req.sent()
	if err != nil || me.Session.ID == 0 {
		return err
	}
	if me.Session.ByProvider() {
		return model.Invalid("code", "who comes by an identity provider shows a second factor there")
	}
	s := appView{Name: me.User.Name, Next: safeNext(form.Get("next"))}
	var secret string
	var codes []string
	if s.Enrolment, err = req.SignIn.Factors.Resume(me, req.issuer(), form.Get("sealed")); err == nil {
		secret, codes, err = req.SignIn.Factors.SetUp(req.r.Context(), me, s.Enrolment, form.Get("code"),
			req.SignIn.origin(req.r))
	}
	if errors.Is(err, auth.ErrCode) {
		s.Fault = "That code does not fit. See that the clock of the device is right, and type the code that is shown now."
		return req.showApp(http.StatusBadRequest, s)
	}
	if said, ok := sayable(err); ok {
		return req.showSecondFactor(http.StatusBadRequest, said)
	}
	if err != nil {
		return err
	}
	req.renew(secret)
	return req.showCodes(me, s.Next, codes)
}

// renew has the browser go on in a session that has begun in the place of all
// others.
func (req *request) renew(secret string) {
	req.SignIn.Sessions.Forget()
	req.SignIn.keep(req.w, req.r, secret, int(req.SignIn.Sessions.Limits().Max.Seconds()))
}

// showCodes leads to the page that shows recovery codes, this once, and from there
// on.
func (req *request) showCodes(me auth.SessionInfo, next string, codes []string) error {
	req.viewer.User = me.User.Name
	req.showOnce(recoveryCodesPath, me.User.ID, next+"\n"+strings.Join(codes, "\n"))
	return nil
}

// codesView is recovery codes, shown once.
type codesView struct {
	Codes []string
	Next  string
}

// recoveryCodes shows the codes that were made just now.
func (req *request) recoveryCodes() error {
	me, err := req.signedIn()
	if err != nil || me.Session.ID == 0 {
		return err
	}
	req.viewer.User = me.User.Name
	s := codesView{Next: "/"}
	if _, text := req.shownOnce(recoveryCodesPath); text != "" {
		lines := strings.Split(text, "\n")
		s = codesView{Codes: lines[1:], Next: safeNext(lines[0])}
	}
	return req.show(http.StatusOK, pageView{Template: "recovery-codes", Title: "Recovery codes", Data: s})
}

// newRecoveryCodes replaces the codes of who is signed in.
func (req *request) newRecoveryCodes() error {
	me, err := req.signedIn()
	if err != nil || me.Session.ID == 0 {
		return err
	}
	secret, codes, err := req.SignIn.Factors.NewRecoveryCodes(req.r.Context(), me)
	if said, ok := sayable(err); ok {
		return req.showSecondFactor(http.StatusConflict, said)
	}
	if err != nil {
		return err
	}
	req.renew(secret)
	return req.showCodes(me, secondFactorPath, codes)
}

// removeSecondFactor asks for password and code at once, however lately they were
// shown.
func (req *request) removeSecondFactor() error {
	me, form, err := req.sent()
	if err != nil || me.Session.ID == 0 {
		return err
	}
	secret, err := req.SignIn.Factors.Remove(req.r.Context(), me, form.Get("password"), form.Get("code"),
		req.SignIn.origin(req.r))
	if errors.Is(err, auth.ErrSignIn) {
		return req.showSecondFactor(http.StatusUnauthorized, "That is not your password.")
	}
	if said, status := req.codeFault(err, codeFaultText); said != "" {
		return req.showSecondFactor(status, said)
	}
	if errors.Is(err, auth.ErrUnauthenticated) { // removed by somebody else meanwhile
		err = model.ErrConflict
	}
	if err != nil {
		return err
	}
	req.renew(secret)
	req.redirect(secondFactorPath + "?done=second-factor-removed")
	return nil
}

// requireSecondFactor says whether people need one in the deployment.
func (req *request) requireSecondFactor(form url.Values) error {
	require, word := form.Get("require") == "on", "second-factor-free"
	if require {
		word = "second-factor-required"
	}
	return req.changed(word, req.update(func(ctx context.Context, tx *store.Tx) error {
		return tx.RequireSecondFactor(ctx, require)
	}))
}

// resetSecondFactor takes the second factor of somebody away who has lost it.
func (req *request) resetSecondFactor() error {
	m, err := req.member()
	if err == nil {
		err = req.ours(m)
	}
	if err != nil {
		return err
	}
	if m.Name == req.viewer.User { // who steals a session must not do without password and code
		return req.changed(
			"", model.Invalid("second factor", "your own is removed at /second-factor, by your password and a code"),
		)
	}
	within, err := req.administers()
	if err != nil {
		return err
	}
	return req.changed(
		"second-factor-reset", req.Store.ResetSecondFactor(req.r.Context(), m.ID, within, req.viewer.Actor()),
	)
}
