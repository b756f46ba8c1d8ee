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

// Bearer returns the bearer token of a request, or "".
func Bearer(r *http.Request) string {
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(secret)
}

// Credential returns the token of a request: a bearer token, or the password of Basic
// authentication. Only operations without side effects may use it, because browsers send passwords
// automatically.
func Credential(r *http.Request) string {
	if _, password, ok := r.BasicAuth(); ok {
		return password
	}
	return Bearer(r)
}

// Rate limits of invalid tokens by network: an address, or the /64 network of an IPv6 address
// (model.Network). A fleet of builds with an expired token gets 401; a client that tries tokens
// gets 429.
const (
	failedPerSecond = 5
	failedAtOnce    = 300
)

// BusyError means that a client sends too many requests.
type BusyError = model.BusyError

// ForbiddenError means that the server rejects the sender of a request with 403, whatever the
// request.
type ForbiddenError struct{ Text string } // instructions for people

// Error returns the text.
func (e *ForbiddenError) Error() string { return e.Text }

// Busy returns the error for a grant that a limiter denied.
func Busy(g auth.Grant, text string) *BusyError {
	return &BusyError{Text: text + " Retry after the time in Retry-After.", Wait: max(g.Wait, time.Second)}
}

// RetryAfter sets the Retry-After header, in whole seconds.
func RetryAfter(h http.Header, wait time.Duration) {
	h.Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
}

// Callers authenticates requests and enforces rate limits. It is safe for concurrent use.
type Callers struct {
	tokens *auth.Authenticator
	rate   *auth.Limiter // of valid tokens, by public id
	failed *auth.Limiter // of invalid tokens, by network
}

// NewCallers returns callers with a rate limit per token, in requests per second, and a burst. A
// rate of 0 means no limit.
func NewCallers(tokens *auth.Authenticator, rate float64, burst int, clock func() time.Time) *Callers {
	return &Callers{tokens, auth.NewLimiter(rate, burst, clock), auth.NewLimiter(failedPerSecond, failedAtOnce, clock)}
}

// Find authenticates a request. It returns the caller of WithCaller, if there is one. Otherwise it
// authenticates the token, counts the request against the token's rate limit and sets the rate
// limit headers in h. It returns auth.ErrUnauthenticated, a *BusyError, or an error of the store.
// Only invalid tokens count against their network; valid tokens of the same address are not
// affected.
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
			const text = "Too many requests from this address with an invalid token. Check the token."
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
		return caller, Busy(g, "Too many requests with this token.")
	}
	return caller, nil
}

type addressedKey struct{}

// WithAddressed stores the path that a client requested in a context. The server sends requests to
// itself for that client with this context.
func WithAddressed(ctx context.Context, path string) context.Context {
	return context.WithValue(ctx, addressedKey{}, path)
}

// addressed returns the path that the client of a request requested.
func addressed(r *http.Request) string {
	if path, ok := r.Context().Value(addressedKey{}).(string); ok {
		return path
	}
	return r.URL.Path
}
