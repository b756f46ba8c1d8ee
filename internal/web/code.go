package web

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
)

// codePath is where who has shown a password, or came by a link, shows the second
// factor.
const codePath = "/login/code"

// codeView is the page that asks for the second factor.
type codeView struct {
	Name    string
	Next    string
	Fault   string
	Passkey auth.Ceremony // to use one in place of a code; empty where there is none
	Lost    string        // what is said of passkeys that the server cannot read; empty where it reads all
}

func halfName(req *request) string { return req.SignIn.cookieName(req.r) + "-half" }

// keepHalf gives the browser the secret of a sign-in that waits, or takes it away.
func keepHalf(req *request, secret string, seconds int) {
	http.SetCookie(req.w, &http.Cookie{
		Name: halfName(req), Value: secret, Path: "/", MaxAge: seconds,
		HttpOnly: true, Secure: req.SignIn.secure(req.r), SameSite: http.SameSiteLaxMode,
	})
}

// dropHalf has the browser forget a sign-in that waits.
func dropHalf(req *request) {
	if _, err := req.r.Cookie(halfName(req)); err == nil {
		keepHalf(req, "", -1)
	}
}

// begun goes on with a session that has begun, or asks for the second factor where
// only half of one has.
func begun(req *request, secret string, err error, next string) error {
	if half, ok := errors.AsType[*auth.HalfError](err); ok {
		keepHalf(req, half.Secret, int(model.HalfSessionFor.Seconds()))
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
	return welcome(req, secret, next)
}

// half is whose sign-in waits in this browser. Where none does, it has led to the
// start, and the user has no id.
func half(req *request, next string) (secret string, u model.User, err error) {
	if req.SignIn == nil {
		return "", u, model.ErrNotFound
	}
	cookie, err := req.r.Cookie(halfName(req))
	if err == nil {
		_, u, err = req.SignIn.Factors.Half(req.r.Context(), cookie.Value)
	}
	switch {
	case errors.Is(err, http.ErrNoCookie), errors.Is(err, auth.ErrUnauthenticated):
		req.lead(signIn(next))
		return "", model.User{}, nil
	case err != nil:
		return "", u, err
	}
	return cookie.Value, u, nil
}

// askCode asks for the second factor.
func askCode(req *request) error {
	next := safeNext(req.r.URL.Query().Get("next"))
	half, u, err := half(req, next)
	if err != nil || u.ID == 0 {
		return err
	}
	return showCode(req, http.StatusOK, half, u, codeView{Next: next})
}

func showCode(req *request, status int, half string, u model.User, s codeView) (err error) {
	s.Name = u.Name
	if req.SignIn.Passkeys != nil {
		if s.Passkey, err = req.SignIn.Passkeys.AskSecond(req.r.Context(), half, u); err != nil {
			return err
		}
		s.Lost = unreadable(req, s.Passkey.Unreadable)
	}
	return req.show(status, pageView{Template: "code", Title: "Your second factor", Data: s})
}

// enterCode begins the session of a sign-in that waited.
func enterCode(req *request, form url.Values) error {
	next := safeNext(form.Get("next"))
	half, u, err := half(req, next)
	if err != nil || u.ID == 0 {
		return err
	}
	var secret string
	fault := codeFaultText
	if answer := form.Get("answer"); answer != "" && req.SignIn.Passkeys != nil {
		fault = passkeyFault
		secret, err = req.SignIn.Passkeys.FinishSecond(req.r.Context(), half, form.Get("sealed"), answer,
			req.SignIn.origin(req.r))
	} else {
		secret, err = req.SignIn.Factors.Finish(req.r.Context(), half, form.Get("code"), req.SignIn.origin(req.r))
	}
	if errors.Is(err, auth.ErrUnauthenticated) {
		dropHalf(req)
		return showLogin(req, http.StatusUnauthorized, loginView{
			Next:  next,
			Fault: "That sign-in is over: it took too long, or too many codes were tried. Begin again.",
		})
	}
	if said, status := codeFault(req, err, fault); said != "" {
		return showCode(req, status, half, u, codeView{Next: next, Fault: said})
	}
	if err != nil {
		return err
	}
	return welcome(req, secret, next)
}

// codeFaultText is what is said of a code that does not hold.
const codeFaultText = "That code does not fit. Each works once: wait for the next one, and see that the clock of the " +
	"device is right."

// codeFault says what is wrong with what was shown, or with how often something was.
func codeFault(req *request, err error, wrong string) (said string, status int) {
	if busy, ok := errors.AsType[*auth.BusyError](err); ok {
		return tooMany(req, busy), http.StatusTooManyRequests
	}
	if said := unreadable(req, err); said != "" {
		return said, http.StatusConflict
	}
	if !errors.Is(err, auth.ErrCode) {
		return "", 0
	}
	if err.Error() != auth.ErrCode.Error() {
		req.Logger.WarnContext(req.r.Context(), "a failed sign-in was not noted", "cause", err)
	}
	return wrong, http.StatusUnauthorized
}

// unreadable says, to who was about to show it, that the server cannot read what it
// keeps of a second factor, and tells the log. It is empty for any other error.
func unreadable(req *request, err error) string {
	lost, ok := errors.AsType[*auth.UnreadableError](err)
	if !ok {
		return ""
	}
	req.Logger.ErrorContext(req.r.Context(), "a second factor cannot be checked", "cause", lost)
	return "This server cannot read what it keeps of your " + lost.Factor +
		": the key that it was kept under is gone. It is no fault of yours. " +
		"Use a recovery code or another second factor. Whoever runs the server can put the key file back, or remove your " +
		"second factor."
}

// welcome ends the session that was, if any, and begins the new one in the
// browser.
func welcome(req *request, secret, next string) error {
	if old, err := req.SignIn.session(req.r); err == nil {
		if err := req.SignIn.Sessions.SignOut(req.r.Context(), old); err != nil {
			return err
		}
	}
	dropHalf(req)
	req.SignIn.Sessions.Forget()
	req.SignIn.keep(req.w, req.r, secret, int(req.SignIn.Sessions.Limits().Max.Seconds()))
	req.redirect(safeNext(next))
	return nil
}
