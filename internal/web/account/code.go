package account

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// codePath is the page for the second factor, after a password or a sign-in link.
const codePath = "/login/code"

// codeView is the data of the page for the second factor.
type codeView struct {
	Name    string
	Next    string
	Fault   string
	Passkey auth.Ceremony // sign-in with a passkey instead of a code; empty without passkeys
	Lost    string        // message about passkeys that the server cannot decrypt; empty if there are none
}

func halfName(req *ui.Request) string { return req.SignIn.CookieName(req.HTTP) + "-half" }

// setPendingCookie sets or deletes the cookie of a pending sign-in.
func setPendingCookie(req *ui.Request, secret string, seconds int) {
	http.SetCookie(req.Writer, &http.Cookie{
		Name: halfName(req), Value: secret, Path: "/", MaxAge: seconds,
		HttpOnly: true, Secure: req.SignIn.IsSecure(req.HTTP), SameSite: http.SameSiteLaxMode,
	})
}

// dropHalf deletes the cookie of a pending sign-in.
func dropHalf(req *ui.Request) {
	if _, err := req.HTTP.Cookie(halfName(req)); err == nil {
		setPendingCookie(req, "", -1)
	}
}

// begun stores a new session in the browser. If the second factor is still missing, it redirects to
// the page for it.
func begun(req *ui.Request, secret string, err error, next string) error {
	if half, ok := errors.AsType[*auth.HalfError](err); ok {
		setPendingCookie(req, half.Secret, int(model.PendingSessionFor.Seconds()))
		to := codePath
		if next = ui.SafeNext(next); next != "/" {
			to += "?next=" + url.QueryEscape(next)
		}
		req.Redirect(to)
		return nil
	}
	if err != nil {
		return err
	}
	return startSession(req, secret, next)
}

// half returns the user of the browser's pending sign-in. If there is none, it redirects to the
// sign-in page and returns a user without id.
func half(req *ui.Request, next string) (secret string, u model.User, err error) {
	if req.SignIn == nil {
		return "", u, model.ErrNotFound
	}
	cookie, err := req.HTTP.Cookie(halfName(req))
	if err == nil {
		_, u, err = req.SignIn.Factors.Half(req.HTTP.Context(), cookie.Value)
	}
	switch {
	case errors.Is(err, http.ErrNoCookie), errors.Is(err, auth.ErrUnauthenticated):
		req.Lead(ui.SignInAddress(next))
		return "", model.User{}, nil
	case err != nil:
		return "", u, err
	}
	return cookie.Value, u, nil
}

// showCodePage shows the page for the second factor.
func showCodePage(req *ui.Request) error {
	next := ui.SafeNext(req.HTTP.URL.Query().Get("next"))
	half, u, err := half(req, next)
	if err != nil || u.ID == 0 {
		return err
	}
	return showCode(req, http.StatusOK, half, u, codeView{Next: next})
}

func showCode(req *ui.Request, status int, half string, u model.User, s codeView) (err error) {
	s.Name = u.Name
	if req.SignIn.Passkeys != nil {
		if s.Passkey, err = req.SignIn.Passkeys.RequestSecondFactor(req.HTTP.Context(), half, u); err != nil {
			return err
		}
		s.Lost = unreadable(req, s.Passkey.Unreadable)
	}
	return req.Show(status, ui.Page{Template: "code", Title: "Your second factor", Data: s})
}

// enterCode completes a pending sign-in.
func enterCode(req *ui.Request, form url.Values) error {
	next := ui.SafeNext(form.Get("next"))
	half, u, err := half(req, next)
	if err != nil || u.ID == 0 {
		return err
	}
	var secret string
	fault := codeFaultText
	if answer := form.Get("answer"); answer != "" && req.SignIn.Passkeys != nil {
		fault = passkeyFault
		secret, err = req.SignIn.Passkeys.FinishSecond(req.HTTP.Context(), half, form.Get("sealed"), answer,
			req.SignIn.Origin(req.HTTP))
	} else {
		secret, err = req.SignIn.Factors.Finish(req.HTTP.Context(), half, form.Get("code"), req.SignIn.Origin(req.HTTP))
	}
	if errors.Is(err, auth.ErrUnauthenticated) {
		dropHalf(req)
		return showLogin(req, http.StatusUnauthorized, loginView{
			Next:  next,
			Fault: "The sign-in has expired or had too many wrong codes. Start over.",
		})
	}
	if message, status := codeFault(req, err, fault); message != "" {
		return showCode(req, status, half, u, codeView{Next: next, Fault: message})
	}
	if err != nil {
		return err
	}
	return startSession(req, secret, next)
}

// codeFaultText is the message about an invalid code.
const codeFaultText = "Wrong code. Each code works once: wait for the next one, and check that the clock of the " +
	"device is correct."

// codeFault returns the message and status for a failed second factor, or 0 for other errors. wrong
// is the message about an invalid factor.
func codeFault(req *ui.Request, err error, wrong string) (message string, status int) {
	if busy, ok := errors.AsType[*auth.BusyError](err); ok {
		return tooMany(req, busy), http.StatusTooManyRequests
	}
	if message := unreadable(req, err); message != "" {
		return message, http.StatusConflict
	}
	if !errors.Is(err, auth.ErrCode) {
		return "", 0
	}
	if err.Error() != auth.ErrCode.Error() {
		req.Logger.WarnContext(req.HTTP.Context(), "failed sign-in not recorded", "cause", err)
	}
	return wrong, http.StatusUnauthorized
}

// unreadable logs a second factor that the server cannot decrypt, and returns the message about it.
// It returns an empty string for other errors.
func unreadable(req *ui.Request, err error) string {
	lost, ok := errors.AsType[*auth.UnreadableError](err)
	if !ok {
		return ""
	}
	req.Logger.ErrorContext(req.HTTP.Context(), "second factor cannot be verified", "cause", lost)
	return "The server cannot decrypt your " + lost.Factor +
		": its key is missing. " +
		"Use a recovery code or another second factor. An administrator can restore the key file, or remove your " +
		"second factor."
}

// startSession ends the previous session, if any, and stores the new one in the browser.
func startSession(req *ui.Request, secret, next string) error {
	if old, err := req.SignIn.Session(req.HTTP); err == nil {
		if err := req.SignIn.Sessions.SignOut(req.HTTP.Context(), old); err != nil {
			return err
		}
	}
	dropHalf(req)
	req.SignIn.Sessions.Forget()
	req.SignIn.SetSessionCookie(req.Writer, req.HTTP, secret, int(req.SignIn.Sessions.Limits().Max.Seconds()))
	req.Redirect(ui.SafeNext(next))
	return nil
}
