package account

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/web/ui"
)

const (
	// passkeyPath signs in with only a passkey.
	passkeyPath = "/login/passkey"
	// passkeysPath is the page on which users add and remove passkeys.
	passkeysPath = ui.SecondFactorPath + "/passkeys"
)

// passkeyFault is the message about an invalid passkey.
const passkeyFault = "The passkey is not valid, or the request expired. Try again."

// enterByPasskey signs in with only a passkey.
func enterByPasskey(req *ui.Request, form url.Values) error {
	if req.SignIn == nil || req.SignIn.Passkeys == nil {
		return model.ErrNotFound
	}
	next := ui.SafeNext(form.Get("next"))
	secret, err := req.SignIn.Passkeys.SignIn(req.HTTP.Context(), form.Get("sealed"), form.Get("answer"),
		req.SignIn.Origin(req.HTTP))
	if message, status := codeFault(req, err, passkeyFault); message != "" {
		return showLogin(req, status, loginView{Next: next, Fault: message})
	}
	if err != nil {
		return err
	}
	return startSession(req, secret, next)
}

// passkeyView is the data of the page that adds a passkey.
type passkeyView struct {
	auth.Ceremony
	Name   string // as typed
	Origin string // address that the passkey will be bound to
	Next   string
	Fault  string
}

// mayAdd returns the session of a user who may add passkeys. Other users are redirected, and the
// session has no id.
func mayAdd(req *ui.Request) (auth.SessionInfo, error) {
	me, err := ui.CurrentSession(req)
	if err == nil && me.Session.ID != 0 && (req.SignIn.Passkeys == nil || me.Session.ByProvider()) {
		req.Redirect(ui.SecondFactorPath)
		return auth.SessionInfo{}, nil
	}
	return me, err
}

// startPasskey shows the page that adds a passkey.
func startPasskey(req *ui.Request) error {
	me, err := mayAdd(req)
	if err != nil || me.Session.ID == 0 {
		return err
	}
	return showPasskey(req, http.StatusOK, me, passkeyView{Next: ui.SafeNext(req.HTTP.URL.Query().Get("next"))})
}

func showPasskey(req *ui.Request, status int, me auth.SessionInfo, s passkeyView) (err error) {
	s.Origin = req.SignIn.Passkeys.Origin()
	if s.Ceremony, err = req.SignIn.Passkeys.Register(req.HTTP.Context(), me); err != nil {
		return err
	}
	return req.Show(status, ui.Page{Template: "passkey", Title: "Add a passkey", Data: s})
}

// addPasskey stores a new passkey. After the first second factor it redirects to the recovery
// codes.
func addPasskey(req *ui.Request, form url.Values) error {
	me, err := mayAdd(req)
	if err != nil || me.Session.ID == 0 {
		return err
	}
	s := passkeyView{Name: form.Get("name"), Next: ui.SafeNext(form.Get("next"))}
	secret, codes, err := req.SignIn.Passkeys.Add(req.HTTP.Context(), me, s.Name, form.Get("sealed"), form.Get("answer"),
		req.SignIn.Origin(req.HTTP))
	if errors.Is(err, auth.ErrCode) {
		s.Fault = passkeyFault
		return showPasskey(req, http.StatusBadRequest, me, s)
	}
	if message, ok := ui.InputError(err); ok {
		s.Fault = message
		return showPasskey(req, http.StatusBadRequest, me, s)
	}
	if err != nil {
		return err
	}
	if secret == "" {
		req.Redirect(ui.SecondFactorPath + "?done=passkey")
		return nil
	}
	renew(req, secret)
	return showCodes(req, me, s.Next, codes)
}

// removePasskey deletes a passkey of the viewer.
func removePasskey(req *ui.Request) error {
	me, err := ui.CurrentSession(req)
	if err != nil || me.Session.ID == 0 {
		return err
	}
	secret, err := req.SignIn.Factors.RemovePasskey(req.HTTP.Context(), me, req.PathID)
	if message, ok := ui.InputError(err); ok {
		return showSecondFactor(req, http.StatusConflict, message)
	}
	if err != nil {
		return err
	}
	renew(req, secret)
	req.Redirect(ui.SecondFactorPath + "?done=passkey-removed")
	return nil
}
