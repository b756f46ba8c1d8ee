package web

import (
	"context"
	"net/http"
	"strings"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
)

// approveView is a scanner that waits for a token after semgrep login.
type approveView struct {
	Request redoubt.LoginRequest
	Fault   string
}

// code is the one that the address names, as the scanner's page shows it.
func (req *request) code() string { return strings.ToUpper(req.r.PathValue("code")) }

// scannerWaits shows who asks for a token. It changes nothing.
func (req *request) scannerWaits() error { return req.showScanner(http.StatusOK, "") }

func (req *request) showScanner(status int, fault string) error {
	l, err := req.Store.LoginByCode(req.r.Context(), req.code())
	if err != nil {
		return err
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
	if err != nil {
		return err
	}
	req.redirect(req.to(tokensPath + "?done=scanner"))
	return nil
}
