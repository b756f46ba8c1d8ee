package web

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
)

const (
	// passkeyPath signs in by a passkey alone.
	passkeyPath = "/login/passkey"
	// passkeysPath is where people add passkeys and remove them.
	passkeysPath = secondFactorPath + "/passkeys"
)

// passkeyFault is what is said of one that does not hold.
const passkeyFault = "That passkey does not fit, or the page waited too long for it. Try once more."

// enterByPasskey signs in by a passkey alone.
func enterByPasskey(req *request, form url.Values) error {
	if req.SignIn == nil || req.SignIn.Passkeys == nil {
		return model.ErrNotFound
	}
	next := safeNext(form.Get("next"))
	secret, err := req.SignIn.Passkeys.SignIn(req.r.Context(), form.Get("sealed"), form.Get("answer"),
		req.SignIn.origin(req.r))
	if said, status := codeFault(req, err, passkeyFault); said != "" {
		return showLogin(req, status, loginView{Next: next, Fault: said})
	}
	if err != nil {
		return err
	}
	return welcome(req, secret, next)
}

// passkeyView is the page on which a passkey is added.
type passkeyView struct {
	auth.Ceremony
	Name   string // as typed
	Origin string // the address that it will be bound to
	Next   string
	Fault  string
}

// mayAdd finds who may add a passkey. Where it has led elsewhere, who has no session.
func mayAdd(req *request) (auth.SessionInfo, error) {
	me, err := currentSession(req)
	if err == nil && me.Session.ID != 0 && (req.SignIn.Passkeys == nil || me.Session.ByProvider()) {
		req.redirect(secondFactorPath)
		return auth.SessionInfo{}, nil
	}
	return me, err
}

// startPasskey asks for a new passkey.
func startPasskey(req *request) error {
	me, err := mayAdd(req)
	if err != nil || me.Session.ID == 0 {
		return err
	}
	return showPasskey(req, http.StatusOK, me, passkeyView{Next: safeNext(req.r.URL.Query().Get("next"))})
}

func showPasskey(req *request, status int, me auth.SessionInfo, s passkeyView) (err error) {
	s.Origin = req.SignIn.Passkeys.Origin()
	if s.Ceremony, err = req.SignIn.Passkeys.Register(req.r.Context(), me); err != nil {
		return err
	}
	return req.show(status, pageView{Template: "passkey", Title: "Add a passkey", Data: s})
}

// addPasskey keeps what the browser made; the first second factor leads to its
// recovery codes.
func addPasskey(req *request, form url.Values) error {
	me, err := mayAdd(req)
	if err != nil || me.Session.ID == 0 {
		return err
	}
	s := passkeyView{Name: form.Get("name"), Next: safeNext(form.Get("next"))}
	secret, codes, err := req.SignIn.Passkeys.Add(req.r.Context(), me, s.Name, form.Get("sealed"), form.Get("answer"),
		req.SignIn.origin(req.r))
	if errors.Is(err, auth.ErrCode) {
		s.Fault = passkeyFault
		return showPasskey(req, http.StatusBadRequest, me, s)
	}
	if said, ok := sayable(err); ok {
		s.Fault = said
		return showPasskey(req, http.StatusBadRequest, me, s)
	}
	if err != nil {
		return err
	}
	if secret == "" {
		req.redirect(secondFactorPath + "?done=passkey")
		return nil
	}
	renew(req, secret)
	return showCodes(req, me, s.Next, codes)
}

// removePasskey takes a passkey of who is signed in away.
func removePasskey(req *request) error {
	me, err := currentSession(req)
	if err != nil || me.Session.ID == 0 {
		return err
	}
	secret, err := req.SignIn.Factors.RemovePasskey(req.r.Context(), me, req.pathID)
	if said, ok := sayable(err); ok {
		return showSecondFactor(req, http.StatusConflict, said)
	}
	if err != nil {
		return err
	}
	renew(req, secret)
	req.redirect(secondFactorPath + "?done=passkey-removed")
	return nil
}
