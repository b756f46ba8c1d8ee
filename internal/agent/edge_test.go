package agent_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/apihttp"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// TestBlockedBuildLinks checks that links use the server address of the scanner's request,
// including behind a proxy that terminates TLS.
func TestBlockedBuildLinks(t *testing.T) {
	w := newWorld(t, "sqlite", func(c *apihttp.Config) { c.TrustedProxies = loopback })
	w.rules(model.ModeBlock)
	w.replay("full")
	path := w.begin("diff")
	w.ok("POST", path+"results", w.recorded("diff/3-results.json"))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.web.URL+path+"complete", strings.NewReader(string(w.recorded("diff/4-complete.json"))))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Authorization": "Bearer " + w.token, "X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "https", "X-Forwarded-Host": "redoubt.example.com",
	} {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var answer struct {
		Reason string `json:"app_block_reason"`
	}
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	w.decode(text, &answer)
	if !strings.Contains(answer.Reason, " https://redoubt.example.com/orgs/acme/scans/") {
		t.Errorf("the link is none of the scanner's: %q", answer.Reason)
	}
}

// TestInvalidTokensAreRateLimited checks that invalid tokens are rate-limited, as bearer tokens and by
// Basic authentication, and that valid ones are not.
func TestInvalidTokensAreRateLimited(t *testing.T) {
	w := newWorld(t, "sqlite")
	basic := func(token string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.web.URL+"/c/p/semgrep-nothing", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.SetBasicAuth("x", token)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	for range 300 {
		w.sendAs("run", "GET", "/api/agent/identity", "nonsense", nil)
	}
	w.same("another as bearer", http.StatusTooManyRequests, w.sendAs("run", "GET", "/api/agent/identity", "nonsense", nil))
	w.same("another by Basic", http.StatusTooManyRequests, basic("nonsense"))
	w.same("a valid one", http.StatusOK, w.sendAs("run", "GET", "/api/agent/identity", w.token, nil))
	w.same("a valid one by Basic", http.StatusNotFound, basic(w.token))
}

// TestFormerNamesGrantNoAccess checks that a token cannot access a project that moved out of its globs.
// The old name must be free.
func TestFormerNamesGrantNoAccess(t *testing.T) {
	w := newWorld(t, "sqlite")
	w.update(func(ctx context.Context, tx *store.Tx) error {
		p, err := tx.ProjectForScan(ctx, nil, model.Project{Name: "acme/old", RepoID: "github.com:7"})
		if err == nil {
			p, err = tx.UpdateProjectByScan(ctx, nil, p.ID, model.Project{Name: "secret/new", RepoID: "github.com:7"})
		}
		if err == nil && p.Name != "secret/new" {
			t.Errorf("the project is %s", p.Name)
		}
		return err
	})
	bound := w.newToken(model.Token{Name: "bound", Scopes: []model.Scope{model.ScopeCI}, ProjectGlobs: []string{"acme/*"}})
	const editor = "/api/agent/deployments/scans/config?repo_name="
	w.same("another name", http.StatusOK, w.sendAs("run", "GET", editor+"acme/other", bound, nil))
	w.same("its old name", http.StatusOK, w.sendAs("run", "GET", editor+"acme/old", bound, nil))
	dry := strings.Replace(string(w.recorded("full/1-scans.json")), `"dry_run": false`, `"dry_run": true`, 1)
	begin := `{"project_metadata":{"repository":"acme/old"},"scan_metadata":{"unique_id":"u","dry_run":true}}`
	w.same("a dry run under its old name", http.StatusOK, w.sendAs("run", "POST", "/api/cli/v2/scans", bound, []byte(begin)))
	own := `{"project_metadata":{"repository":"acme/mine","repo_id":"7","repo_url":"https://github.com/acme/mine"},"scan_metadata":{"unique_id":"v"}}`
	w.same("a name of its own with the id of that repository", http.StatusOK, w.sendAs("run", "POST", "/api/cli/v2/scans", bound, []byte(own)))
	w.same("the old name for the token of all", "secret/new", w.named("acme/old").Name)
	moved := w.named("secret/new")
	w.scanAs(bound, claim{name: "acme/old", id: "7"})
	w.same("the project that has the id", moved, w.named("secret/new"))
	w.same("a project of the token's own, which it is that has the name now", true, w.named("acme/old").ID > moved.ID)
	w.same("a dry run of all projects' token", http.StatusOK, w.sendAs("run", "POST", "/api/cli/v2/scans", w.token, []byte(dry)))
}
