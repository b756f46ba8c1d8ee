package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/store"
)

// approveView is a scanner that waits for a token after semgrep login.
type approveView struct {
	Request redoubt.LoginRequest
	Fault   string
}

// code is the one that the address names, as the scanner's page shows it.
func (req *request) code() string { return auth.TidyLoginCode(req.r.PathValue("code")) }

// How often one person may try codes that nobody waits under. Of 40 bits, nobody
// guesses one so.
const (
	triesPerSecond = 0.1
	triesAtOnce    = 20
)

// waiting finds who waits under a code that the viewer names.
func (req *request) waiting(code string) (redoubt.LoginRequest, error) {
	l, err := req.Store.LoginByCode(req.r.Context(), code)
	return l, req.missed(err)
}

// missed counts a try that found nobody.
func (req *request) missed(err error) error {
	if errors.Is(err, redoubt.ErrNotFound) {
		if g := req.codes.Allow(req.viewer.User); !g.OK {
			return &redoubt.BusyError{Text: "You tried too many codes that nobody waits under. Wait a minute.", Wait: g.Wait}
		}
	}
	return err
}

// scannerWaits shows who asks for a token. It changes nothing.
func (req *request) scannerWaits() error { return req.showScanner(http.StatusOK, "") }

func (req *request) showScanner(status int, fault string) error {
	l, err := req.waiting(req.code())
	if err != nil {
		return err
	}
	if l.ByProgram() {
		req.redirect(req.to(devicePath + "?code=" + url.QueryEscape(l.Code)))
		return nil
	}
	return req.show(status, pageView{Template: "approve", Title: "A scanner asks for a token", Section: "tokens", Data: approveView{l, fault}})
}

// approveScanner lets it have one of the viewer, which can hand in scans and can
// do no more than the viewer.
func (req *request) approveScanner() error {
	err := req.update(func(ctx context.Context, tx *store.Tx) error {
		me, err := tx.Member(ctx, req.viewer.User)
		if err != nil {
			return err
		}
		_, err = tx.ApproveLogin(ctx, req.code(), redoubt.Token{
			Name: "semgrep login " + req.code(), Scopes: []redoubt.Scope{redoubt.ScopeCI}, Dialect: redoubt.DialectContract, UserID: me.ID,
		})
		return err
	})
	if said, ok := sayable(err); ok {
		return req.showScanner(http.StatusConflict, said)
	}
	if err := req.missed(err); err != nil {
		return err
	}
	req.redirect(req.to(tokensPath + "?done=scanner"))
	return nil
}
