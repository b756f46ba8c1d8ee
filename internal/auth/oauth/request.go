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

// Scopes that clients may ask for.
const (
	ScopeRead  = "read"
	ScopeWrite = "write"
)

// Scopes lists them.
func Scopes() []string { return []string{ScopeRead, ScopeWrite} }

// Error is an error that a client reads, by the names of RFC 6749.
type Error struct{ Code, Text string }

// Error says what is wrong.
func (e *Error) Error() string { return e.Text }

// Request is a client's wish to be let in.
type Request struct {
	Client      Client
	RedirectURI string
	State       string
	Challenge   string
	Resource    string // canonical, as Resource returns it
	Write       bool   // it asks to change things
}

// challenge is what S256 makes.
var challenge = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// verifier is what a client makes up (RFC 7636 §4.1).
var verifier = regexp.MustCompile(`^[A-Za-z0-9._~-]{43,128}$`)

// maxState bounds what a client has sent back to it, in bytes.
const maxState = 1024

// Request reads the wish of a client that stands in an address. ErrClient and
// *RedirectError may be told to the person alone: nobody vouches for where an
// answer would go. Any other fault is an *Error for the client, to be sent to the
// redirect URI of the request that comes with it.
func (k Keys) Request(q url.Values, base string, now time.Time) (r Request, err error) {
	if r.Client, err = k.Client(q.Get("client_id"), now); err != nil {
		return r, err
	}
	r.RedirectURI, r.State, r.Challenge = q.Get("redirect_uri"), q.Get("state"), q.Get("code_challenge")
	if !r.Client.Allows(r.RedirectURI) {
		return r, &RedirectError{r.RedirectURI, "is none that the client registered"}
	}
	for _, name := range []string{
		"client_id", "redirect_uri", "state", "code_challenge", "resource", "response_type", "scope",
	} {
		if len(q[name]) > 1 {
			return r, &Error{"invalid_request", name + " stands there more than once"}
		}
	}
	switch {
	case len(r.State) > maxState:
		r.State = ""
		return r, &Error{"invalid_request", "state is too long"}
	case q.Get("response_type") != "code":
		return r, &Error{"unsupported_response_type", "response_type must be code"}
	case q.Get("code_challenge_method") != "S256" || !challenge.MatchString(r.Challenge):
		return r, &Error{"invalid_request", "code_challenge with code_challenge_method S256 is needed"}
	}
	return r, r.finish(q, base)
}

// Verified reports whether a verifier is the one that a challenge was made of.
func Verified(challenge, text string) bool {
	sum := sha256.Sum256([]byte(text))
	return verifier.MatchString(text) && subtle.ConstantTimeCompare([]byte(base64.RawURLEncoding.EncodeToString(sum[:])),
		[]byte(challenge)) == 1
}

// TokenScopes are the scopes of a token that may read, or change things too.
func TokenScopes(write bool) []model.Scope {
	if write {
		return []model.Scope{model.ScopeWebAPI}
	}
	return []model.Scope{model.ScopeWebAPI, model.ScopeReadOnly}
}

// ScopeOf is what a token may, in the words of clients.
func ScopeOf(t model.Token) string {
	if t.Has(model.ScopeReadOnly) {
		return ScopeRead
	}
	return ScopeRead + " " + ScopeWrite
}
