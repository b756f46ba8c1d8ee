package core

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"time"

	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// probe limits the time of a health check of the database.
const probe = 2 * time.Second

// mux returns the router of all addresses: operations, probes and documentation.
func (s *Server) mux() *http.ServeMux {
	mux := http.NewServeMux()
	patterns := map[string]methods{}
	for _, route := range s.spec.Routes {
		if patterns[route.Pattern] == nil {
			patterns[route.Pattern] = methods{}
			mux.Handle(route.Pattern, patterns[route.Pattern])
		}
		patterns[route.Pattern][route.Method] = &endpoint{server: s, route: route, op: s.spec.operations[route.ID]}
	}
	for _, m := range s.Mounted {
		mux.Handle(m.Pattern, s.mounted(m))
	}
	s.page(mux, "/healthz", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, health{Status: "ok"})
	})
	s.page(mux, "/readyz", s.ready)
	s.page(mux, "/api/readiness-check", s.ready) // address that clients of the hosted service use
	s.page(mux, "/version", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, version{Version: s.Version})
	})
	if !s.MetricsElsewhere {
		s.page(mux, "/metrics", s.MetricsHandler().ServeHTTP)
	}
	s.page(mux, "/api/v1/openapi.json", s.serveSpec)
	s.page(mux, "/openapi.json", http.RedirectHandler("/api/v1/openapi.json", http.StatusPermanentRedirect).ServeHTTP)
	s.page(mux, "/api/docs", serveDocs)
	s.page(mux, "/api/docs/{file}", serveDocs)
	mux.HandleFunc("/api", unmatched) // the mux would redirect it
	mux.HandleFunc("/api/", unmatched)
	mux.Handle("/", s.pages())
	return mux
}

// pages returns the handler of all other addresses.
func (s *Server) pages() http.Handler {
	if s.Pages == nil {
		return http.HandlerFunc(unmatched)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := CallOf(r.Context())
		defer func() { c.route = r.Pattern }() // the pattern of the page, known after it was served
		s.Pages.ServeHTTP(w, r)
	})
}

// page registers an address without authentication, for GET and HEAD.
func (s *Server) page(mux *http.ServeMux, pattern string, serve http.HandlerFunc) {
	mux.Handle(pattern, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		CallOf(r.Context()).route = pattern
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			refuseMethod(w, r, []string{http.MethodGet, http.MethodHead})
			return
		}
		serve(w, r)
	}))
}

type health struct {
	Status string `json:"status"`
}

// readiness is the state of the database: "ok" or the reason of a failure.
type readiness struct {
	Status string `json:"status"`
	Reads  string `json:"reads"`
	Writes string `json:"writes"`
	Index  string `json:"index,omitempty"` // loading, during a start
}

const ok = "ok"

type version struct {
	Version string `json:"version"`
}

// startMost limits how long a server is not ready only because its index is loading. Requests are
// served meanwhile; those that need deployments that are not loaded wait.
const startMost = time.Minute

// ready reports whether requests can be served at once. A read-only database counts as ready:
// stored data can be shown, and the response reports that writes fail.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), probe)
	defer cancel()
	reads, writes := s.Store.Health(ctx)
	answer, status := readiness{Status: ok, Reads: condition(reads), Writes: condition(writes)}, http.StatusOK
	CallOf(r.Context()).cause = cmp.Or(reads, writes)
	switch {
	case s.Draining.Load():
		answer.Status, status = "stopping", http.StatusServiceUnavailable
		httpx.RetryAfter(w.Header(), time.Second)
	case reads != nil:
		answer.Status, status = "unavailable", http.StatusServiceUnavailable
		httpx.RetryAfter(w.Header(), model.OutageOf(reads).RetryAfter())
	case s.Index.Starting() && s.Clock().Sub(s.began) < startMost:
		answer.Status, status = "starting", http.StatusServiceUnavailable
		httpx.RetryAfter(w.Header(), time.Second)
	case writes != nil:
		answer.Status = "read-only"
	}
	if s.Index.Starting() {
		answer.Index = "loading"
	}
	writeJSON(w, status, answer)
}

// condition returns the public description of a database error, or "ok".
func condition(err error) string {
	switch {
	case err == nil:
		return ok
	case errors.As(err, new(*store.NewerSchemaError)):
		return "A newer Redoubt has migrated the database. This server must be replaced by that version."
	}
	return model.OutageOf(err).Text()
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) //nolint:errchkjson // plain members; errors mean that the client is gone
}

func (s *Server) serveSpec(w http.ResponseWriter, r *http.Request) {
	text, err := s.spec.Published()
	if err != nil {
		writeProblem(w, r, ProblemOf(err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // a write error means that the client is gone
}

//go:embed swagger
var swagger embed.FS

// docsPolicy allows the page to load only resources of the server. The library needs inline styles
// and data images.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// serveDocs serves the documentation page, which loads no external resources.
func serveDocs(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	if name == "" {
		name = "index.html"
	}
	files, err := fs.Sub(swagger, "swagger")
	if err != nil {
		writeProblem(w, r, ProblemOf(err))
		return
	}
	if _, err := fs.Stat(files, name); err != nil {
		unmatched(w, r)
		return
	}
	w.Header().Set("Content-Security-Policy", docsPolicy)
	http.ServeFileFS(w, r, files, name)
}
