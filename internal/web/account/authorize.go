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

// authorizeView is the data of the page that authorizes an OAuth client.
type authorizeView struct {
	Request oauth.Request
	Host    string            // host of the redirect URI
	Local   bool              // the redirect URI is on the user's machine
	Write   bool              // the user may grant write access
	Params  []component.Param // hidden fields of the form
	Choose  string            // address of the page to choose another deployment
	Fault   string            // error of the request; empty if it is valid
	Back    string            // address of the client with the error
}

// oauthKeys returns the keys that sign the credentials of clients.
func oauthKeys(req *ui.Request) oauth.Keys { return req.SigningKeys.All }

// authorization parses a client's request. It reports faults to the user or to the client, and then
// returns done as true.
func authorization(req *ui.Request, q url.Values) (r oauth.Request, done bool, err error) {
	r, err = oauthKeys(req).Request(q, req.BaseURL(), req.Clock())
	var fault *oauth.Error
	var redirect *oauth.RedirectError
	switch {
	case errors.As(err, &fault):
		return r, true, reportFault(req, r, fault)
	case errors.As(err, &redirect):
		err = model.Invalid("redirect_uri", "%s", strings.TrimPrefix(redirect.Error(), "redirect_uri "))
	case errors.Is(err, oauth.ErrClient):
		err = model.Invalid("client_id", "%s", err.Error())
	}
	return r, false, err
}

// reportFault reports a fault of a client's request. A client on the user's machine receives it by
// redirect; otherwise a page shows the fault and a link to the client. Anyone may register an
// address elsewhere, so an automatic redirect would make the server an open redirector (RFC 9700
// §4.11.2).
func reportFault(req *ui.Request, r oauth.Request, fault *oauth.Error) error {
	u, err := url.Parse(r.RedirectURI)
	if err != nil {
		return err
	}
	answer := url.Values{"error": {fault.Code}, "error_description": {fault.Text}}
	if u.Scheme == "http" { // loopback; other http addresses cannot be registered
		sendBack(req, r, answer)
		return nil
	}
	v := authorizeView{Request: r, Host: u.Host, Fault: fault.Text, Back: clientAddress(req, r, answer)}
	return req.Show(http.StatusBadRequest, ui.Page{
		Template: "authorize",
		Title:    "Invalid access request",
		Section:  "tokens",
		Data:     v,
	})
}

// sendBack redirects the browser to the client with an answer.
func sendBack(req *ui.Request, r oauth.Request, answer url.Values) {
	http.Redirect(req.Writer, req.HTTP, clientAddress(req, r, answer), http.StatusSeeOther)
}

// clientAddress returns the client's redirect URI with an answer.
func clientAddress(req *ui.Request, r oauth.Request, answer url.Values) string {
	u, err := url.Parse(r.RedirectURI)
	if err != nil {
		return "/" // cannot happen: the address was already validated
	}
	q := u.Query()
	maps.Copy(q, answer)
	if r.State != "" {
		q.Set("state", r.State)
	}
	q.Set("iss", req.BaseURL()) // RFC 9207: identifies the issuer for clients of several servers
	u.RawQuery = q.Encode()
	return u.String()
}

// showAuthorization shows the client and the requested access. It changes no data.
func showAuthorization(req *ui.Request) error {
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
	// The response to the form redirects to the client. Browsers apply form-action to that
	// redirect.
	req.Writer.Header().Set("Content-Security-Policy", strings.Replace(ui.ContentPolicy, "form-action 'self'", "form-action 'self' "+u.Scheme+"://"+u.Host, 1))
	return req.Show(http.StatusOK, ui.Page{
		Template: "authorize",
		Title:    "An application requests access",
		Section:  "tokens",
		Data:     v,
	})
}

// authorize grants or denies the client access.
func authorize(req *ui.Request, form url.Values) error {
	r, done, err := authorization(req, form)
	if err != nil || done {
		return err
	}
	if form.Get("answer") != "allow" {
		sendBack(req, r, url.Values{
			"error":             {"access_denied"},
			"error_description": {"The user denied access."},
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

// clientName returns the name of a client in lists.
func clientName(name string) string { return cmp.Or(name, "unnamed client") }
