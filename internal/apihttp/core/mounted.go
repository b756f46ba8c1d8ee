package core

import (
	"errors"
	"net/http"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/httpx"
)

// mounted returns a handler for an operation of another package, with the checks of the server's
// own operations.
func (s *Server) mounted(m httpx.Mounted) http.Handler {
	e, others := &endpoint{server: s, route: Route{Route: m.Route}}, s.pages()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if m.When != nil && !m.When(r) {
			others.ServeHTTP(w, r)
			return
		}
		c := CallOf(r.Context())
		c.W, c.R, c.route = w, r.WithContext(r.Context()), m.Pattern
		w.Header().Set("Cache-Control", "no-store")
		if r.Method != m.Method && (m.Method != http.MethodGet || r.Method != http.MethodHead) {
			refuseMethod(w, r, []string{m.Method})
			return
		}
		if err := e.serveMounted(m, c); err != nil {
			p := ProblemOf(err)
			if m.Refused != nil && (errors.Is(err, auth.ErrUnauthenticated) || p.Status == http.StatusForbidden) {
				m.Refused(c.R, err, p.Status)
			}
			if m.Challenge != nil {
				c.challenge = m.Challenge(c.R)
			}
			writeProblem(w, r, p)
		}
	})
}

func (e *endpoint) serveMounted(m httpx.Mounted, c *Call) error {
	token := httpx.Bearer(c.R)
	if m.Basic {
		token = httpx.Credential(c.R)
	}
	if err := e.admit(c, token); err != nil {
		return err
	}
	if m.Scope == httpx.Anyone && token != "" {
		known, err := e.server.callers.Find(c.W.Header(), c.R, token)
		if _, busy := errors.AsType[*httpx.BusyError](err); busy {
			return err
		}
		if err == nil {
			c.Caller = known
		}
	}
	body, err := Inflate(c.R, e.server.Limits.Upload)
	if err != nil {
		return err
	}
	reservation := e.server.Intake.Reserve()
	defer reservation.Release()
	c.R.Body = reservation.Body(body)
	return m.Handle(c.W, c.R, c.Caller)
}
