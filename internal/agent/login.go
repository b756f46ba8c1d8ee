package agent

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// Limits of polling for tokens. Scanners poll every 2 to 6 seconds, and many may share an address.
const (
	loginsPerSecond = 5
	loginsAtOnce    = 60
)

// loginKey matches the key of a scanner's token request, usually a UUID. It grants access to the
// token, so it must not be guessable.
var loginKey = regexp.MustCompile(`^[0-9A-Za-z-]{32,128}$`)

type loginRequest struct {
	Key string `json:"token_request_key"`
}

type loginResponse struct {
	Token    string `json:"token"`
	UserName string `json:"user_name"`
}

// login handles the poll of a scanner for a token. It returns 404 until a user has approved the
// request, and then the token, once. The token is created here, so that none exists before it is
// fetched. Callers are unauthenticated, so the number and lifetime of requests and the polling rate
// are limited.
func (a *Agent) login(w http.ResponseWriter, r *http.Request, _ auth.Caller) error {
	if g := a.logins.Allow(model.Network(httpx.OriginOf(r).Address)); !g.OK {
		return httpx.Busy(g, "Too many token requests from this address.")
	}
	var request loginRequest
	if err := decode(r, &request); err != nil {
		return err
	}
	if !loginKey.MatchString(request.Key) {
		return model.Invalid(
			"token_request_key", "must have 32 to 128 random letters, digits and hyphens, such as a UUID",
		)
	}
	sum := sha256.Sum256([]byte(request.Key))
	waiting, err := a.Store.LoginByKey(r.Context(), sum[:])
	switch {
	case errors.Is(err, model.ErrNotFound):
		stored, err := a.Store.AddLogin(r.Context(), model.LoginRequest{
			KeyHash: sum[:], Code: auth.LoginCode(a.SecretKey, request.Key),
			Address: httpx.OriginOf(r).Address, Agent: userAgent(r),
		})
		if err == nil && !stored {
			return &httpx.BusyError{Wait: time.Minute, Text: "Too many token requests are pending. Retry in a few " +
				"minutes, or use a token created on the tokens page."}
		}
		return errors.Join(err, model.ErrNotFound)
	case err == nil && !waiting.Approved():
		return model.ErrNotFound
	case err != nil:
		return err
	}
	made, err := a.issueToken(r.Context(), waiting)
	if err != nil {
		return err
	}
	return answer(w, made)
}

// issueToken creates the token of an approved request for the first caller. If the approver has
// reached the maximum number of tokens, the request remains until one is free or it expires.
func (a *Agent) issueToken(ctx context.Context, waiting model.LoginRequest) (made loginResponse, err error) {
	err = a.Store.Update(ctx, waiting.DeploymentID, waiting.ApprovedBy, func(ctx context.Context, tx *store.Tx) error {
		claimed, err := tx.ConsumeLogin(ctx, waiting.KeyHash)
		if err != nil {
			return err
		}
		secret := auth.NewSecret(waiting.DeploymentID)
		claimed.Token.PublicID = secret.PublicID
		made = loginResponse{secret.Text, claimed.Token.Name}
		_, err = tx.CreateToken(ctx, claimed.Token, secret.Hash)
		if _, full := errors.AsType[*model.InvalidError](err); full {
			err = fmt.Errorf("the request was approved, but the approver has the maximum number of tokens: revoke "+
				"one in Settings, Tokens, within %s of the request, then retry: %w",
				model.LoginFor, model.ErrConflict)
		}
		return err
	})
	return made, err
}

// isLogin reports whether a request for /login comes from a scanner. Other requests are for the web
// pages.
func isLogin(r *http.Request) bool { return r.URL.Query().Has("cli-token") }

const loginStyle = `body{font:1rem/1.5 sans-serif;max-width:42rem;margin:4rem auto;padding:0 1rem}code{font:1.1em ` +
	`monospace;background:#eee;padding:.1em .4em}`

var loginTemplate = template.Must(template.New("login").Parse(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Scanner token request</title>
<style>` + loginStyle + `</style>
<h1>Scanner token request</h1>
<p>Its code is <code>{{.Code}}</code>. <a href="/orgs/-/approve/{{.Code}}">Sign in to approve it</a>, ` +
	`or run on the server:</p>
<p><code>redoubt token approve {{.Code}}</code></p>
<p>With several deployments: <code>redoubt token approve {{.Code}} --deployment SLUG</code>.</p>
<p>Approve only a scanner that you or a colleague just started: ` +
	`the token can upload scans of any project.
The request expires after {{.Minutes}} minutes; the scanner waits for three. ` +
	`It continues when it has its token.</p>
</html>
`))

// loginPolicy allows only the page's own style.
var loginPolicy = func() string {
	sum := sha256.Sum256([]byte(loginStyle))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}()

// loginPage is the page that a scanner opens for its user. It changes nothing, so that links from
// other sites are harmless.
func (a *Agent) loginPage(w http.ResponseWriter, r *http.Request, _ auth.Caller) error {
	key := r.URL.Query().Get("cli-token")
	if !loginKey.MatchString(key) {
		return model.Invalid("cli-token", "invalid value: run semgrep login again")
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", loginPolicy)
	return loginTemplate.Execute(w, struct {
		Code    string
		Minutes int
	}{auth.LoginCode(a.SecretKey, key), int(model.LoginFor.Minutes())})
}

// maxAgent limits the stored user agent, in bytes.
const maxAgent = 200

func userAgent(r *http.Request) string { return brief(r.UserAgent(), maxAgent) }

// brief returns a client's text on one line, without secrets and truncated.
func brief(s string, limit int) string {
	s = printable(s)
	return strings.ToValidUTF8(model.CutBytes(s, limit), "")
}
