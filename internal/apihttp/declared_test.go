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

// statusRecorder notes the status of an answer.
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

// Unwrap has the server flush and set deadlines.
func (s *statusRecorder) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// describedRoutes finds the operation of a request.
var describedRoutes = sync.OnceValue(func() *http.ServeMux {
	mux := http.NewServeMux()
	for _, r := range Routes() {
		mux.Handle(r.Method+" "+r.Pattern, http.NotFoundHandler())
	}
	return mux
})

// operationOf is what openapi.json says of a request; nil where it is of no operation.
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

// declared is a handler of whose operations no test may see a status that
// openapi.json does not say of them: clients are made from it.
func declared(t testing.TB, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o, seen := operationOf(r), &statusRecorder{ResponseWriter: w}
		next.ServeHTTP(seen, r)
		if o == nil || r.Method == http.MethodHead {
			return
		}
		status := max(seen.status, http.StatusOK)
		if o.Responses[strconv.Itoa(status)] == nil {
			t.Errorf("%s %s answered %d, which openapi.json does not say of %s", r.Method, r.URL.Path, status, o.OperationID)
		}
	})
}

// serving is a server of the handler, until the test ends.
func serving(t testing.TB, handler http.Handler) (url string) {
	web := httptest.NewServer(declared(t, handler))
	t.Cleanup(web.Close)
	return web.URL
}
