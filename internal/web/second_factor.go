package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/store"
)

const (
	// codePath is where who has shown a password, or came by a link, shows the
	// second factor.
	codePath = "/login/code"
	// secondFactorPath is where people set theirs up. It is below no deployment:
	// one may ask for it before it shows anything.
	secondFactorPath  = "/second-factor"
	appPath           = secondFactorPath + "/app"
	recoveryCodesPath = secondFactorPath + "/recovery-codes"
)

// codeView is the page that asks for the second factor.
type codeView struct {
	Name  string
	Next  string
	Fault string
}

func (s *SignIn) halfName(r *http.Request) string { return s.cookieName(r) + "-half" }

// keepHalf gives the browser the secret of a sign-in that waits, or takes it away.
func (req *request) keepHalf(secret string, seconds int) {
	http.SetCookie(req.w, &http.Cookie{
		Name: req.SignIn.halfName(req.r), Value: secret, Path: "/", MaxAge: seconds, HttpOnly: true, Secure: req.SignIn.secure(req.r), SameSite: http.SameSiteLaxMode,
	})
}

// dropHalf has the browser forget a sign-in that waits.
func (req *request) dropHalf() {
	if _, err := req.r.Cookie(req.SignIn.halfName(req.r)); err == nil {
		req.keepHalf("", -1)
	}
}

// begun goes on with a session that has begun, or asks for the second factor where
// only half of one has.
func (req *request) begun(secret string, err error, next string) error {
	if half, ok := errors.AsType[*auth.HalfError](err); ok {
		req.keepHalf(half.Secret, int(redoubt.HalfSessionFor.Seconds()))
		to := codePath
		if next = safeNext(next); next != "/" {
			to += "?next=" + url.QueryEscape(next)
		}
		req.redirect(to)
		return nil
	}
	if err != nil {
		return err
	}
	return req.welcome(secret, next)
}

// half is whose sign-in waits in this browser. Where none does, it has led to the
// start, and the user has no id.
func (req *request) half(next string) (secret string, u redoubt.User, err error) {
	if req.SignIn == nil {
		return "", u, redoubt.ErrNotFound
	}
	cookie, err := req.r.Cookie(req.SignIn.halfName(req.r))
	if err == nil {
		_, u, err = req.SignIn.Factors.Half(req.r.Context(), cookie.Value)
	}
	switch {
	case errors.Is(err, http.ErrNoCookie), errors.Is(err, auth.ErrUnauthenticated):
		req.lead(signIn(next))
		return "", redoubt.User{}, nil
	case err != nil:
		return "", u, err
	}
	return cookie.Value, u, nil
}

// askCode asks for the second factor.
func (req *request) askCode() error {
	next := safeNext(req.r.URL.Query().Get("next"))
	_, u, err := req.half(next)
	if err != nil || u.ID == 0 {
		return err
	}
	return req.showCode(http.StatusOK, codeView{Name: u.Name, Next: next})
}

func (req *request) showCode(status int, s codeView) error {
	req.unsaved()
	return req.show(status, pageView{Template: "code", Title: "Your second factor", Data: s})
}

// enterCode begins the session of a sign-in that waited.
func (req *request) enterCode() error {
	form, err := req.form()
	if err != nil {
		return err
	}
	next := safeNext(form.Get("next"))
	half, u, err := req.half(next)
	if err != nil || u.ID == 0 {
		return err
	}
	s := codeView{Name: u.Name, Next: next}
	secret, err := req.SignIn.Factors.Finish(req.r.Context(), half, form.Get("code"), req.SignIn.origin(req.r))
	if errors.Is(err, auth.ErrUnauthenticated) {
		req.dropHalf()
		return req.showLogin(http.StatusUnauthorized, loginView{Next: next, Fault: "That sign-in is over: it took too long, or too many codes were tried. Begin again."})
	}
	if said, status := req.codeFault(err); said != "" {
		s.Fault = said
		return req.showCode(status, s)
	}
	if err != nil {
		return err
	}
	return req.welcome(secret, next)
}

// codeFault says what is wrong with a code, or with how often one was tried.
func (req *request) codeFault(err error) (said string, status int) {
	if busy, ok := errors.AsType[*auth.BusyError](err); ok {
		return req.tooMany(busy), http.StatusTooManyRequests
	}
	if !errors.Is(err, auth.ErrCode) {
		return "", 0
	}
	if err.Error() != auth.ErrCode.Error() {
		req.Logger.WarnContext(req.r.Context(), "a failed sign-in was not noted", "cause", err)
	}
	return "That code does not fit. Each works once: wait for the next one, and see that the clock of the device is right.", http.StatusUnauthorized
}

// secondFactorView is what people see of their second factor.
type secondFactorView struct {
	User        redoubt.User
	Codes       int      // recovery codes that were not used
	HasPassword bool     // which is asked for to take the factor away
	ByProvider  bool     // an identity provider signed them in, whose business it is
	Required    []string // the deployments that ask for one
	Next        string
	Done        string
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
		User: me.User, HasPassword: me.User.PasswordHash != "", ByProvider: me.Session.ByProvider(), Next: safeNext(q.Get("next")), Done: done[q.Get("done")], Fault: fault,
	}
	for _, m := range me.Memberships {
		if m.Deployment.SecondFactor {
			s.Required = append(s.Required, m.Deployment.Name)
		}
	}
	if s.Codes, err = req.Store.RecoveryCodes(req.r.Context(), me.User.ID); err != nil {
		return err
	}
	return req.show(status, pageView{Template: "second-factor", Title: "Second factor", Data: s})
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
	if me.User.HasSecondFactor() || me.Session.ByProvider() {
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
	req.unsaved()
	if s.QR, err = newQRCode(s.Address); err != nil {
		return err
	}
	return req.show(status, pageView{Template: "authenticator", Title: "Set up an authenticator app", Data: s})
}

// setUpApp takes the first code, and leads to the recovery codes.
func (req *request) setUpApp() error {
	me, err := req.signedIn()
	if err != nil || me.Session.ID == 0 {
		return err
	}
	form, err := req.form()
	if err != nil {
		return err
	}
	if me.Session.ByProvider() {
		return redoubt.Invalid("code", "who comes by an identity provider shows a second factor there")
	}
	s := appView{Name: me.User.Name, Next: safeNext(form.Get("next"))}
	var secret string
	var codes []string
	if s.Enrolment, err = req.SignIn.Factors.Resume(me, req.issuer(), form.Get("sealed")); err == nil {
		secret, codes, err = req.SignIn.Factors.SetUp(req.r.Context(), me, s.Enrolment, form.Get("code"), req.SignIn.origin(req.r))
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
	codes, err := req.SignIn.Factors.NewRecoveryCodes(req.r.Context(), me.User.ID)
	if said, ok := sayable(err); ok {
		return req.showSecondFactor(http.StatusConflict, said)
	}
	if err != nil {
		return err
	}
	return req.showCodes(me, secondFactorPath, codes)
}

// removeSecondFactor asks for password and code at once, however lately they were
// shown.
func (req *request) removeSecondFactor() error {
	me, err := req.signedIn()
	if err != nil || me.Session.ID == 0 {
		return err
	}
	form, err := req.form()
	if err != nil {
		return err
	}
	secret, err := req.SignIn.Factors.Remove(req.r.Context(), me, form.Get("password"), form.Get("code"), req.SignIn.origin(req.r))
	if errors.Is(err, auth.ErrSignIn) {
		return req.showSecondFactor(http.StatusUnauthorized, "That is not your password.")
	}
	if said, status := req.codeFault(err); said != "" {
		return req.showSecondFactor(status, said)
	}
	if errors.Is(err, auth.ErrUnauthenticated) { // removed by somebody else meanwhile
		err = redoubt.ErrConflict
	}
	if err != nil {
		return err
	}
	req.renew(secret)
	req.redirect(secondFactorPath + "?done=second-factor-removed")
	return nil
}

// requireSecondFactor says whether people need one in the deployment.
func (req *request) requireSecondFactor() error {
	form, err := req.form()
	if err != nil {
		return err
	}
	require, word := form.Get("require") == "on", "second-factor-free"
	if require {
		word = "second-factor-required"
	}
	return req.changed(word, req.update(func(ctx context.Context, tx *store.Tx) error { return tx.RequireSecondFactor(ctx, require) }))
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
		return req.changed("", redoubt.Invalid("second factor", "your own is removed at /second-factor, by your password and a code"))
	}
	within, err := req.administers()
	if err != nil {
		return err
	}
	return req.changed("second-factor-reset", req.Store.ResetSecondFactor(req.r.Context(), m.ID, within, req.viewer.Actor()))
}
