package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/auth/oauth"
	"github.com/redoubt/redoubt/internal/edge"
	"github.com/redoubt/redoubt/internal/store"
)

// devicePath is the page where a person lets in a program that asks by the device
// flow (RFC 8628), as redoubt login does. Without a deployment before it, it is what
// the program tells people to open.
const devicePath = "/device"

// deviceView is a program that waits, or the question for its code.
type deviceView struct {
	Typed   string // the code that was asked for; there is nobody under it
	Request redoubt.LoginRequest
	Host    string // where the person is: nobody else's address is to be let in at
	Near    bool   // it asked from the network that the person comes from
	Write   bool   // the person may let it change things
	Choose  string // address of the page to choose another deployment
	Fault   string
	Denied  bool
}

// goToDevice leads to the page of the deployment that is chosen next.
func (req *request) goToDevice() error {
	to := "/orgs/-" + devicePath
	if code := req.r.URL.Query().Get("code"); code != "" {
		to += "?code=" + url.QueryEscape(code)
	}
	req.redirect(to)
	return nil
}

// programWaits shows who asks to be let in under a code, or asks for the code. It
// changes nothing.
func (req *request) programWaits() error {
	code := auth.TidyLoginCode(req.r.URL.Query().Get("code"))
	if code == "" {
		return req.showDevice(http.StatusOK, deviceView{})
	}
	return req.showProgram(http.StatusOK, code, "")
}

func (req *request) showProgram(status int, code, fault string) error {
	l, err := req.waiting(code)
	switch {
	case errors.Is(err, redoubt.ErrNotFound):
		return req.showDevice(http.StatusNotFound, deviceView{Typed: code})
	case err != nil:
		return err
	case !l.ByProgram():
		req.redirect(req.to(strings.Replace(approvePath, "{code}", url.PathEscape(l.Code), 1)))
		return nil
	}
	near := redoubt.Network(l.Address) == redoubt.Network(edge.OriginOf(req.r).Address)
	return req.showDevice(status, deviceView{Request: l, Near: near, Write: mayWrite(l), Fault: fault})
}

// mayWrite reports whether a program may be let change things, as far as the role of the viewer
// goes: who may only look lets it ask for exceptions.
func mayWrite(l redoubt.LoginRequest) bool {
	return l.Program.Write
}

func (req *request) showDevice(status int, v deviceView) error {
	v.Host = strings.TrimPrefix(strings.TrimPrefix(req.base(), "https://"), "http://")
	next := "/orgs/-" + devicePath
	if v.Request.Code != "" {
		next += "?code=" + url.QueryEscape(v.Request.Code)
	}
	v.Choose = choosePath + "?next=" + url.QueryEscape(next)
	return req.show(status, pageView{Template: "device", Title: "A program asks to be let in", Section: "tokens", Data: v})
}

// decideProgram lets the program in, or not.
func (req *request) decideProgram() error {
	form, err := req.form()
	if err != nil {
		return err
	}
	code := auth.TidyLoginCode(form.Get("code"))
	l, err := req.waiting(code)
	if errors.Is(err, redoubt.ErrNotFound) {
		return req.showDevice(http.StatusNotFound, deviceView{Typed: code})
	}
	if err != nil {
		return err
	}
	if form.Get("answer") != "allow" {
		err = req.update(func(ctx context.Context, tx *store.Tx) error { return tx.DenyProgram(ctx, code) })
		if err != nil {
			return err
		}
		return req.showDevice(http.StatusOK, deviceView{Denied: true})
	}
	err = req.grantProgram(l, mayWrite(l) && form.Get("access") == oauth.ScopeWrite)
	if said, ok := sayable(err); ok {
		return req.showProgram(http.StatusConflict, code, said)
	}
	if err != nil {
		return err
	}
	req.redirect(req.to(tokensPath + "?done=program"))
	return nil
}

// grantProgram has the program get a token of the viewer, which it can renew.
func (req *request) grantProgram(l redoubt.LoginRequest, write bool) error {
	return req.update(func(ctx context.Context, tx *store.Tx) error {
		me, err := tx.Member(ctx, req.viewer.User)
		if err != nil {
			return err
		}
		return tx.ApproveProgram(ctx, l.Code, redoubt.Token{
			Name: "OAuth: " + clientName(oauth.Client{Name: l.Program.Name}), Scopes: oauth.TokenScopes(write), Dialect: redoubt.DialectContract, UserID: me.ID,
		})
	})
}
