package apihttp

import (
	"net/http"
	"net/http/httptest"
	"path"
	"strconv"
	"sync"
	"testing"

	"github.com/danielgtaylor/huma/v2"
)

// statusRecorder records the status of a response.
type statusRecorder struct {
	http.ResponseWriter
	status int
}

func (s *statusRecorder) WriteHeader(status int) {
	if s.status == 0 {
		s.status = status
	}
	s.ResponseWriter.WriteHeader(status)
}

// Unwrap supports http.ResponseController.
func (s *statusRecorder) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// describedRoutes returns a mux with the routes of all operations.
var describedRoutes = sync.OnceValue(func() *http.ServeMux {
	mux := http.NewServeMux()
	for _, r := range Routes() {
		mux.Handle(r.Method+" "+r.Pattern, http.NotFoundHandler())
	}
	return mux
})

// operationOf returns the documentation of a request's operation, or nil.
func operationOf(r *http.Request) *huma.Operation {
	if path.Clean(r.URL.Path) != r.URL.Path {
		return nil
	}
	_, pattern := describedRoutes().Handler(r)
	for _, route := range Routes() {
		if route.Method+" "+route.Pattern == pattern {
			return theSpec().Operation(route.ID)
		}
	}
	return nil
}

// declared fails the test if a response has a status that openapi.json does not document, because
// clients are generated from it.
func declared(t testing.TB, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o, seen := operationOf(r), &statusRecorder{ResponseWriter: w}
		next.ServeHTTP(seen, r)
		if o == nil || r.Method == http.MethodHead {
			return
		}
		status := max(seen.status, http.StatusOK)
		if o.Responses[strconv.Itoa(status)] == nil {
			t.Errorf("%s %s returned %d, which openapi.json lacks for %s", r.Method, r.URL.Path, status, o.OperationID)
		}
	})
}

// serving starts a server that stops at the end of the test.
func serving(t testing.TB, handler http.Handler) (url string) {
	web := httptest.NewServer(declared(t, handler))
	t.Cleanup(web.Close)
	return web.URL
}
