package httpx

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/auth/oauth"
	"github.com/redoubt/redoubt/internal/model"
)

// Bearer is the token that a request carries as a bearer; empty for none.
func Bearer(r *http.Request) string {
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(secret)
}

// Credential is the token that a request carries in whatever way: as a bearer,
// or as the password of Basic authentication. Only what changes nothing may take
// it so, since browsers send passwords along by themselves.
func Credential(r *http.Request) string {
	if _, password, ok := r.BasicAuth(); ok {
		return password
	}
	return Bearer(r)
}

// How often tokens that are not valid are taken from one network: an address, or
// the /64 of one of IPv6 (model.Network). A fleet of builds whose token has
// expired gets its 401; who tries tokens is told to wait.
const (
	failedPerSecond = 5
	failedAtOnce    = 300
)

// BusyError means that a client asks too often.
type BusyError = model.BusyError

// ForbiddenError means that the server refuses the sender of a request, whatever it asks for:
// 403.
type ForbiddenError struct{ Text string } // for people: what to do

// Error returns the text.
func (e *ForbiddenError) Error() string { return e.Text }

// Busy answers what a limiter did not grant.
func Busy(g auth.Grant, text string) *BusyError {
	return &BusyError{Text: text + " Wait as Retry-After says.", Wait: max(g.Wait, time.Second)}
}

// RetryAfter tells a client how long to wait.
func RetryAfter(h http.Header, wait time.Duration) {
	h.Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
}

// Callers finds who sends a request, and bounds how often they may. It is safe
// for concurrent use.
type Callers struct {
	tokens *auth.Authenticator
	rate   *auth.Limiter // of valid tokens, by public id
	failed *auth.Limiter // of others, by network
}

// NewCallers makes it: rate and burst bound the requests of one token, in
// requests a second and at once; a rate of 0 sets no limit.
func NewCallers(tokens *auth.Authenticator, rate float64, burst int, clock func() time.Time) *Callers {
	return &Callers{tokens, auth.NewLimiter(rate, burst, clock), auth.NewLimiter(failedPerSecond, failedAtOnce, clock)}
}

// Find returns the caller of WithCaller, if any. Else it finds the caller by a token, counts the
// request against the token's rate and tells in the answer's header how much of that is left. It answers
// auth.ErrUnauthenticated, a *BusyError, or an error of the store. A valid token
// is found however many others came from its address: only those that fail are
// counted there, and a request without any tried nothing.
func (c *Callers) Find(h http.Header, r *http.Request, token string) (auth.Caller, error) {
	if caller, ok := r.Context().Value(callerKey{}).(auth.Caller); ok {
		return caller, nil
	}
	caller, err := c.tokens.Authenticate(r.Context(), token)
	if err == nil && caller.Audience != "" && !oauth.Opens(caller.Audience, OriginOf(r).Base, addressed(r)) {
		caller, err = auth.Caller{}, auth.ErrUnauthenticated
	}
	if errors.Is(err, auth.ErrUnauthenticated) && token != "" {
		if g := c.failed.Allow(model.Network(OriginOf(r).Address)); !g.OK {
			const text = "Too many requests from this address bring a token that is not valid. Check the token."
			err = errors.Join(Busy(g, text), err)
		}
	}
	if err != nil || !c.rate.Limited() {
		return caller, err
	}
	g := c.rate.Allow(caller.Token.PublicID)
	h.Set("RateLimit-Limit", strconv.Itoa(g.Limit))
	h.Set("RateLimit-Remaining", strconv.Itoa(g.Remaining))
	h.Set("RateLimit-Reset", strconv.Itoa(int(math.Ceil(g.Reset.Seconds()))))
	if !g.OK {
		return caller, Busy(g, "This token sends too many requests.")
	}
	return caller, nil
}

type addressedKey struct{}

// WithAddressed stores the path that a client addressed in the context of the requests that
// the server sends to itself for that client.
func WithAddressed(ctx context.Context, path string) context.Context {
	return context.WithValue(ctx, addressedKey{}, path)
}

// addressed returns the path that the client of a request addressed.
func addressed(r *http.Request) string {
	if path, ok := r.Context().Value(addressedKey{}).(string); ok {
		return path
	}
	return r.URL.Path
}
