package server

import (
	"io"
	"net/http"

	"github.com/redoubt/redoubt/internal/auth"
)

// Mounted is an operation of another adapter. The server admits its callers,
// bounds and inflates its body, writes its errors as problems and logs it, as
// it does for its own.
type Mounted struct {
	Method  string
	Pattern string // of http.ServeMux; one method each
	// Scope of Anyone lets everybody in; a caller who sends a valid token is
	// known all the same.
	Scope  Scope
	Writes bool // refused to read-only tokens
	// When leaves requests that it denies to the pages; nil takes all.
	When func(*http.Request) bool
	// Basic takes a token as the password of Basic authentication too. Only for
	// what changes nothing: browsers send those along by themselves.
	Basic bool
	// Refused, if it is not nil, hears of callers who are not known, or may not
	// do this, before they are told.
	Refused func(r *http.Request, cause error, status int)
	// Handle answers. The request's RemoteAddr is the client's address alone, as
	// trusted proxies tell it.
	Handle func(w http.ResponseWriter, r *http.Request, caller auth.Caller) error
}

func (m Mounted) handler(s *Server, others http.Handler) http.Handler {
	e := &endpoint{server: s, route: Route{Method: m.Method, Pattern: m.Pattern, Scope: m.Scope, Writes: m.Writes}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if m.When != nil && !m.When(r) {
			others.ServeHTTP(w, r)
			return
		}
		c := callOf(r.Context())
		c.w, c.r, c.route = w, r.WithContext(r.Context()), m.Pattern
		c.r.RemoteAddr = s.clientAddress(r)
		w.Header().Set("Cache-Control", "no-store")
		if r.Method != m.Method && (m.Method != http.MethodGet || r.Method != http.MethodHead) {
			refuseMethod(w, r, []string{m.Method})
			return
		}
		if err := m.serve(e, c); err != nil {
			p := problemOf(err)
			if m.Refused != nil && (p.Status == http.StatusUnauthorized || p.Status == http.StatusForbidden) {
				m.Refused(c.r, err, p.Status)
			}
			writeProblem(w, r, p)
		}
	})
}

func (m Mounted) serve(e *endpoint, c *call) error {
	if m.Basic {
		asBearer(c.r)
	}
	if err := e.admit(c); err != nil {
		return err
	}
	if m.Scope == Anyone && bearer(c.r) != "" {
		if known, err := e.server.auth.Authenticate(c.r.Context(), bearer(c.r)); err == nil {
			c.caller = known
			if err := e.server.grant(c); err != nil {
				return err
			}
		}
	}
	body, err := inflate(c.r, e.server.Limits.Upload)
	if err != nil {
		return err
	}
	reserved := &reservation{of: &e.server.intake}
	defer reserved.release()
	c.r.Body = io.NopCloser(metered{body, reserved})
	return m.Handle(c.w, c.r, c.caller)
}

// asBearer makes the password of Basic authentication the bearer's token.
func asBearer(r *http.Request) {
	if _, password, ok := r.BasicAuth(); ok {
		r.Header = r.Header.Clone()
		r.Header.Set("Authorization", "Bearer "+password)
	}
}

// metered is a body that reserves its room as it is read.
type metered struct {
	io.Reader
	reserved *reservation
}

// Read implements io.Reader.
func (m metered) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	if full := m.reserved.reserve(n); full != nil {
		return n, full
	}
	return n, err
}
