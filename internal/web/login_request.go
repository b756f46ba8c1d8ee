package web

import (
	"context"
	"net/http"
	"strings"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
)

// approveSheet is a scanner that waits for a token after semgrep login.
type approveSheet struct {
	Request redoubt.LoginRequest
	Done    bool
}

// code is the one that the address names, as the scanner's page shows it.
func (v *visit) code() string { return strings.ToUpper(v.r.PathValue("code")) }

// scannerWaits shows who asks for a token. It changes nothing.
func (v *visit) scannerWaits() error {
	l, err := v.Store.LoginByCode(v.r.Context(), v.code())
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, sheet{Template: "approve", Title: "A scanner asks for a token", Section: "tokens", Data: approveSheet{Request: l}})
}

// approveScanner lets it have one of the viewer, which can hand in scans and can
// do no more than the viewer.
func (v *visit) approveScanner() error {
	var l redoubt.LoginRequest
	err := v.update(func(ctx context.Context, tx *store.Tx) error {
		me, err := tx.Member(ctx, v.viewer.User)
		if err != nil {
			return err
		}
		l, err = tx.ApproveLogin(ctx, v.code(), redoubt.Token{
			Name: "semgrep login " + v.code(), Scopes: []redoubt.Scope{redoubt.ScopeCI}, Dialect: redoubt.DialectContract, UserID: me.ID,
		})
		return err
	})
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, sheet{Template: "approve", Title: "The scanner gets its token", Section: "tokens", Data: approveSheet{l, true}})
}
