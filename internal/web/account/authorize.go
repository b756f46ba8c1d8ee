package account

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/redoubt/redoubt/internal/auth/oauth"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/component"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// authorizeView is a client that wants to be let in.
type authorizeView struct {
	Request oauth.Request
	Host    string            // where the answer goes
	Local   bool              // that is the person's own machine
	Write   bool              // the person may let it change things
	Params  []component.Param // what the form sends again
	Choose  string            // address of the page to choose another deployment
	Fault   string            // what is wrong with the wish; empty where nothing is
	Back    string            // address of the client with that answer
}

// oauthKeys are those that sign what clients are given.
func oauthKeys(req *ui.Request) oauth.Keys { return req.SigningKeys.All }

// authorization reads what the client wants. What is wrong with it the person is
// told, or the client, and then done is true.
func authorization(req *ui.Request, q url.Values) (r oauth.Request, done bool, err error) {
	r, err = oauthKeys(req).Request(q, req.BaseURL(), req.Clock())
	var fault *oauth.Error
	var redirect *oauth.RedirectError
	switch {
	case errors.As(err, &fault):
		return r, true, tellFault(req, r, fault)
	case errors.As(err, &redirect):
		err = model.Invalid("redirect_uri", "%s", strings.TrimPrefix(redirect.Error(), "redirect_uri "))
	case errors.Is(err, oauth.ErrClient):
		err = model.Invalid("client_id", "%s", err.Error())
	}
	return r, false, err
}

// tellFault tells what is wrong with a client's wish: the client where it is a
// program on the person's machine, else the person, who may go on to it. Anybody
// may register an address elsewhere, so that a browser that was led there without
// being asked could be led anywhere in this server's name (RFC 9700 §4.11.2).
func tellFault(req *ui.Request, r oauth.Request, fault *oauth.Error) error {
	u, err := url.Parse(r.RedirectURI)
	if err != nil {
		return err
	}
	answer := url.Values{"error": {fault.Code}, "error_description": {fault.Text}}
	if u.Scheme == "http" { // on a loopback address: no other is registered
		sendBack(req, r, answer)
		return nil
	}
	v := authorizeView{Request: r, Host: u.Host, Fault: fault.Text, Back: clientAddress(req, r, answer)}
	return req.Show(http.StatusBadRequest, ui.Page{
		Template: "authorize",
		Title:    "A program asks in a way that will not do",
		Section:  "tokens",
		Data:     v,
	})
}

// sendBack leads the browser to the client with an answer.
func sendBack(req *ui.Request, r oauth.Request, answer url.Values) {
	http.Redirect(req.Writer, req.HTTP, clientAddress(req, r, answer), http.StatusSeeOther)
}

// clientAddress is the address of the client with an answer.
func clientAddress(req *ui.Request, r oauth.Request, answer url.Values) string {
	u, err := url.Parse(r.RedirectURI)
	if err != nil {
		return "/" // it was parsed when it was checked
	}
	q := u.Query()
	maps.Copy(q, answer)
	if r.State != "" {
		q.Set("state", r.State)
	}
	q.Set("iss", req.BaseURL()) // RFC 9207: a client of several servers is told who answers
	u.RawQuery = q.Encode()
	return u.String()
}

// askToAuthorize shows who wants to be let in, and to what. It changes nothing.
func askToAuthorize(req *ui.Request) error {
	r, done, err := authorization(req, req.HTTP.URL.Query())
	if err != nil || done {
		return err
	}
	u, err := url.Parse(r.RedirectURI)
	if err != nil {
		return err
	}
	v := authorizeView{Request: r, Host: u.Host, Local: u.Scheme == "http", Write: r.Write}
	for _, name := range []string{
		"client_id", "redirect_uri", "state", "code_challenge", "code_challenge_method", "response_type", "resource", "scope",
	} {
		if value := req.HTTP.URL.Query().Get(name); value != "" {
			v.Params = append(v.Params, component.Param{Name: name, Value: value})
		}
	}
	v.Choose = ui.ChoosePath + "?next=" + url.QueryEscape(ui.UnderDeployment(req.HTTP.URL, "-"))
	// The answer to the form leads to the client, which a browser takes for sending
	// the form there.
	req.Writer.Header().Set("Content-Security-Policy", strings.Replace(ui.ContentPolicy, "form-action 'self'", "form-action 'self' "+u.Scheme+"://"+u.Host, 1))
	return req.Show(http.StatusOK, ui.Page{
		Template: "authorize",
		Title:    "A program asks to be let in",
		Section:  "tokens",
		Data:     v,
	})
}

// authorize lets the client in, or not.
func authorize(req *ui.Request, form url.Values) error {
	r, done, err := authorization(req, form)
	if err != nil || done {
		return err
	}
	if form.Get("answer") != "allow" {
		sendBack(req, r, url.Values{
			"error":             {"access_denied"},
			"error_description": {"The person did not let the client in."},
		})
		return nil
	}
	write := r.Write && form.Get("access") == oauth.ScopeWrite
	code := oauth.NewCode(req.Viewer.Deployment.ID)
	err = req.Update(func(ctx context.Context, tx *store.Tx) error {
		me, err := tx.Member(ctx, req.Viewer.User)
		if err != nil {
			return err
		}
		return tx.AddOAuthGrant(ctx, model.OAuthGrant{
			CodeHash: oauth.Hash(code), ClientHash: oauth.Hash(r.Client.ID),
			RedirectURI: r.RedirectURI, Challenge: r.Challenge, Resource: r.Resource,
			Token: model.Token{
				Name:   "OAuth: " + clientName(r.Client.Name),
				Scopes: oauth.TokenScopes(write), Dialect: model.DialectContract, UserID: me.ID,
			},
		})
	})
	if err != nil {
		return err
	}
	sendBack(req, r, url.Values{"code": {code}})
	return nil
}

// clientName is what a client calls itself, for lists.
func clientName(name string) string { return cmp.Or(name, "a client without a name") }
