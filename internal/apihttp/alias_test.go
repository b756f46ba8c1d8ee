package apihttp

import (
	"encoding/json"
	"net/http"
	"strconv"
	"testing"

	"github.com/redoubt/redoubt/api"
)

// TestGetDeployment checks reading a deployment by slug and by id, in both dialects, with its own
// tokens only.
func TestGetDeployment(t *testing.T) {
	h := newHosted(t)
	for _, dialect := range []string{"hosted", "contract"} {
		list := decodedAs[api.ListDeploymentsResponse](t, h.send(http.MethodGet, "/api/v1/deployments", "", api.DialectHeader, dialect).body)
		for _, address := range []string{"acme", "acme/", strconv.FormatInt(list.Deployments[0].ID, 10)} {
			a := h.send(http.MethodGet, "/api/v1/deployments/"+address, "", api.DialectHeader, dialect)
			if a.status != http.StatusOK {
				t.Fatalf("%s: %d %s", address, a.status, a.body)
			}
			if got := decodedAs[api.DeploymentResponse](t, a.body); got.Deployment != list.Deployments[0] {
				t.Errorf("%s: %+v, in the list %+v", address, got.Deployment, list.Deployments[0])
			}
		}
	}
	h.wantProblem(h.send(http.MethodGet, "/api/v1/deployments/rival", ""), api.CodeNotFound)
	h.wantProblem(h.send(http.MethodGet, "/api/v1/deployments/acme", "", "Authorization", ""), api.CodeUnauthenticated)
}

func decodedAs[T any](t *testing.T, text string) (out T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestReadinessCheckIsReadyz checks that both addresses return the same response, ready or not.
func TestReadinessCheckIsReadyz(t *testing.T) {
	h := newHarness(t)
	for _, status := range []int{http.StatusOK, http.StatusServiceUnavailable} {
		want := h.send(http.MethodGet, "/readyz", "", "Authorization", "")
		got := h.send(http.MethodGet, "/api/readiness-check", "", "Authorization", "")
		if want.status != status || got.status != status || got.body != want.body {
			t.Errorf("readyz %d %s, readiness-check %d %s", want.status, want.body, got.status, got.body)
		}
		h.server.Drain()
	}
}

// TestAliasSubresources checks the addresses of tags and settings of a project with a short name. A
// method that projects do not support applies to the part. Authentication comes first, and the
// Allow header matches openapi.json.
func TestAliasSubresources(t *testing.T) {
	const acme = "/api/v1/deployments/acme"
	h := newHarness(t)
	h.wantProblem(h.send(http.MethodPut, acme+"/projects/0/tags", `{"tags":["x"]}`, "Authorization", ""), api.CodeUnauthenticated)
	h.wantProblem(h.send(http.MethodPut, acme+"/projects/0/tags", `{"tags":["x"]}`), api.CodeNotFound)
	for path, allow := range map[string]string{
		"/projects/0/tags": "DELETE, PUT", "/projects/0/managed-scan": "PATCH", "/projects/0%2Ftags": "DELETE, GET, HEAD, PATCH", "/projects/0/other": "DELETE, GET, HEAD, PATCH",
	} {
		if a := h.send(http.MethodPost, acme+path, ""); a.status != http.StatusMethodNotAllowed || a.header.Get("Allow") != allow {
			t.Errorf("%s: %d, Allow %s instead of %s", path, a.status, a.header.Get("Allow"), allow)
		}
	}
	for _, part := range []string{"tags", "managed-scan"} {
		if a := h.send(http.MethodPost, acme+"/projects", `{"name":"one/`+part+`"}`); a.status != http.StatusOK {
			t.Fatalf("%d %s", a.status, a.body)
		}
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPatch, http.MethodDelete} {
			if a := h.send(method, acme+"/projects/one/"+part, "{}"); a.status != http.StatusOK {
				t.Errorf("%s of the project one/%s: %d %s", method, part, a.status, a.body)
			}
		}
	}
}
