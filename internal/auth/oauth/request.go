package oauth

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/url"
	"regexp"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// Scopes that clients may request.
const (
	ScopeRead  = "read"
	ScopeWrite = "write"
)

// Scopes returns all scopes.
func Scopes() []string { return []string{ScopeRead, ScopeWrite} }

// Error is an error for clients, with a code of RFC 6749.
type Error struct{ Code, Text string }

// Error returns the description.
func (e *Error) Error() string { return e.Text }

// Request is an authorization request of a client.
type Request struct {
	Client      Client
	RedirectURI string
	State       string
	Challenge   string
	Resource    string // canonical, as Resource returns it
	Write       bool   // requests write access
}

// challenge matches an S256 code challenge.
var challenge = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// verifier matches a code verifier (RFC 7636 section 4.1).
var verifier = regexp.MustCompile(`^[A-Za-z0-9._~-]{43,128}$`)

// maxState limits the state parameter, in bytes.
const maxState = 1024

// Request parses an authorization request from a query. ErrClient and *RedirectError must only be
// shown to the user, because the redirect address is untrusted. Other errors are an *Error for the
// client, to be sent to the redirect address of the returned request.
func (k Keys) Request(q url.Values, base string, now time.Time) (r Request, err error) {
	if r.Client, err = k.Client(q.Get("client_id"), now); err != nil {
		return r, err
	}
	r.RedirectURI, r.State, r.Challenge = q.Get("redirect_uri"), q.Get("state"), q.Get("code_challenge")
	if !r.Client.Allows(r.RedirectURI) {
		return r, &RedirectError{r.RedirectURI, "is not registered for the client"}
	}
	for _, name := range []string{
		"client_id", "redirect_uri", "state", "code_challenge", "resource", "response_type", "scope",
	} {
		if len(q[name]) > 1 {
			return r, &Error{"invalid_request", name + " is repeated"}
		}
	}
	switch {
	case len(r.State) > maxState:
		r.State = ""
		return r, &Error{"invalid_request", "state is too long"}
	case q.Get("response_type") != "code":
		return r, &Error{"unsupported_response_type", "response_type must be code"}
	case q.Get("code_challenge_method") != "S256" || !challenge.MatchString(r.Challenge):
		return r, &Error{"invalid_request", "code_challenge with code_challenge_method S256 is required"}
	}
	return r, r.finish(q, base)
}

// Verified reports whether a challenge belongs to a verifier.
func Verified(challenge, text string) bool {
	sum := sha256.Sum256([]byte(text))
	return verifier.MatchString(text) && subtle.ConstantTimeCompare([]byte(base64.RawURLEncoding.EncodeToString(sum[:])),
		[]byte(challenge)) == 1
}

// TokenScopes returns the scopes of a token with read access, or also with write access.
func TokenScopes(write bool) []model.Scope {
	if write {
		return []model.Scope{model.ScopeWebAPI}
	}
	return []model.Scope{model.ScopeWebAPI, model.ScopeReadOnly}
}

// ScopeOf returns the OAuth scope of a token.
func ScopeOf(t model.Token) string {
	if t.Has(model.ScopeReadOnly) {
		return ScopeRead
	}
	return ScopeRead + " " + ScopeWrite
}
