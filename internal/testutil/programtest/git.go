package programtest

import (
	"bytes"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os/exec"
	"testing"
)

// GitPassword is the password of the user robot at GitHost.
const GitPassword = "clone-password-of-the-host"

// GitHost serves the bare repositories of a directory over HTTP with a password.
func GitHost(t *testing.T, root string) *httptest.Server {
	t.Helper()
	backend, err := GitBackend(root)
	if err != nil {
		t.Skip("install git")
	}
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "robot" || password != GitPassword {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(host.Close)
	return host
}

// GitBackend serves the bare repositories of a directory over HTTP.
func GitBackend(root string) (http.Handler, error) {
	git, err := exec.LookPath("git")
	return &cgi.Handler{
		Path: git, Args: []string{"http-backend"}, Stderr: &bytes.Buffer{},
		Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1"},
	}, err
}
