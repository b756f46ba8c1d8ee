package core

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
)

func TestProjectNamesInPaths(t *testing.T) {
	const base = "/api/v1/deployments/acme/projects"
	for _, test := range []struct{ path, project, toggle string }{
		{"/acme/payments", "acme/payments", ""},
		{"/acme%2Fpayments", "acme/payments", ""},
		{"/acme%2fpayments", "acme/payments", ""},
		{"/group/sub/repo", "group/sub/repo", ""},
		{"/group%2Fsub/repo", "group/sub/repo", ""},
		{"/local_scan/demo", "local_scan/demo", ""},
		{"/acme/100%25%20x", "acme/100% x", ""},
		{"/acme%252Fx/y", "acme%2Fx/y", ""},
		{"/acme/managed-scan", "acme/managed-scan", ""},
		{"/acme%2Fmanaged-scan", "acme/managed-scan", ""},
		{"/acme/payments/managed-scan", "", "acme/payments"},
		{"/acme%2Fpayments/managed-scan", "", "acme/payments"},
		{"/acme/managed-scan/managed-scan", "", "acme/managed-scan"},
		{"/acme%2Fpayments%2Fmanaged-scan", "acme/payments/managed-scan", ""},
		{"/acme/payments/tags", "", "tags of acme/payments"},
		{"/acme%2Fpayments/tags", "", "tags of acme/payments"},
		{"/acme/tags", "acme/tags", ""},
		{"/acme/payments%2Ftags", "acme/payments/tags", ""},
		{"//acme//payments", "acme/payments", ""},
		{"/acme/payments/", "acme/payments", ""},
		{"/acme/payments/tags//", "", "tags of acme/payments"},
		{"/plain", "plain", ""},
	} {
		var project, toggle string
		mux := http.NewServeMux()
		mux.HandleFunc(base+"/{projectName}", func(_ http.ResponseWriter, r *http.Request) { project = r.PathValue("projectName") })
		mux.HandleFunc(base+"/{projectName}/managed-scan", func(_ http.ResponseWriter, r *http.Request) { toggle = r.PathValue("projectName") })
		mux.HandleFunc(base+"/{projectName}/tags", func(_ http.ResponseWriter, r *http.Request) { toggle = "tags of " + r.PathValue("projectName") })
		w := httptest.NewRecorder()
		canonicalPath(mux).ServeHTTP(w, httptest.NewRequest(http.MethodPatch, "http://h"+base+test.path, nil))
		if w.Code != http.StatusOK || project != test.project || toggle != test.toggle {
			t.Errorf("%s: %d, project %q, toggle %q", test.path, w.Code, project, toggle)
		}
	}
}

func FuzzCanonicalPath(f *testing.F) {
	f.Add("/api/v1/deployments/1/projects/a/b/managed-scan")
	f.Add("//api//v1/deployments/1/projects/a%2Fb")
	f.Add("/api/v1/deployments/1/projects/%ff%00")
	f.Add("/../x")
	f.Fuzz(func(t *testing.T, path string) {
		u, err := url.ParseRequestURI(path)
		if err != nil {
			t.Skip()
		}
		w := httptest.NewRecorder()
		ctx := context.WithValue(t.Context(), callKey{}, &Call{W: w})
		canonicalPath(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			twice := joinProjectName(http.MethodGet, plainSlashes(r.URL.EscapedPath()))
			if twice != r.URL.EscapedPath() {
				t.Errorf("%q became %q, and that would become %q", path, r.URL.EscapedPath(), twice)
			}
		})).ServeHTTP(w, (&http.Request{Method: http.MethodGet, URL: u}).WithContext(ctx))
	})
}
