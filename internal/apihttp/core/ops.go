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

// probe is how long the database has to say that it is there.
const probe = 2 * time.Second

// mux has every address: the table, the probes and the documentation.
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
	s.page(mux, "/api/readiness-check", s.ready) // where clients of the hosted service ask
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
	mux.HandleFunc("/api", unmatched) // which the mux would redirect
	mux.HandleFunc("/api/", unmatched)
	mux.Handle("/", s.pages())
	return mux
}

// pages answers every other address.
func (s *Server) pages() http.Handler {
	if s.Pages == nil {
		return http.HandlerFunc(unmatched)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := CallOf(r.Context())
		defer func() { c.route = r.Pattern }() // that of the page, which answered by then
		s.Pages.ServeHTTP(w, r)
	})
}

// page serves an address that is no operation: GET and HEAD, for anyone.
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

// readiness says what the database can do: "ok", or why not.
type readiness struct {
	Status string `json:"status"`
	Reads  string `json:"reads"`
	Writes string `json:"writes"`
	Index  string `json:"index,omitempty"` // loading, while a start goes on
}

const ok = "ok"

type version struct {
	Version string `json:"version"`
}

// startMost is how long a server says that it is not ready for no other reason than
// that its index is loading. Requests are answered meanwhile: those that need what is
// not loaded yet wait.
const startMost = time.Minute

// ready reports whether requests can be answered at once. A database that only reads
// is ready: what is stored can be shown, and the answer says that nothing is taken.
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

// condition says of an error what anybody may read.
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
	_ = json.NewEncoder(w).Encode(v) //nolint:errchkjson // plain members; a lost connection has nobody to tell
}

func (s *Server) serveSpec(w http.ResponseWriter, r *http.Request) {
	text, err := s.spec.Published()
	if err != nil {
		writeProblem(w, r, ProblemOf(err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // a lost connection has nobody to tell
}

//go:embed swagger
var swagger embed.FS

// docsPolicy lets the page load what the server itself serves, and nothing
// else. The library styles elements one by one and draws its icons from data.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// serveDocs serves the documentation page, without anything from elsewhere.
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
