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
	Handle func(w http.ResponseWriter, r *http.Request, caller auth.Caller) error
}

func (m Mounted) handler(s *Server) http.Handler {
	e := &endpoint{server: s, route: Route{Method: m.Method, Pattern: m.Pattern, Scope: m.Scope, Writes: m.Writes}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := callOf(r.Context())
		c.w, c.r, c.route = w, r, m.Pattern
		w.Header().Set("Cache-Control", "no-store")
		if r.Method != m.Method && (m.Method != http.MethodGet || r.Method != http.MethodHead) {
			refuseMethod(w, r, []string{m.Method})
			return
		}
		if err := m.serve(e, c); err != nil {
			writeProblem(w, r, problemOf(err))
		}
	})
}

func (m Mounted) serve(e *endpoint, c *call) error {
	if err := e.admit(c); err != nil {
		return err
	}
	if m.Scope == Anyone && bearer(c.r) != "" {
		if known, err := e.server.auth.Authenticate(c.r.Context(), bearer(c.r)); err == nil {
			c.caller = known
		}
	}
	body, err := inflate(c.r, e.server.Limits.Upload)
	if err != nil {
		return err
	}
	room := &portion{of: &e.server.intake}
	defer room.release()
	c.r.Body = io.NopCloser(metered{body, room})
	return m.Handle(c.w, c.r, c.caller)
}

// metered is a body that takes room as it is read.
type metered struct {
	io.Reader
	room *portion
}

// Read implements io.Reader.
func (m metered) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	if full := m.room.take(n); full != nil {
		return n, full
	}
	return n, err
}
