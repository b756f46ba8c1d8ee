package conformance

import (
	"cmp"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// testDeployments checks that a token sees its own deployment only, and that the address of the
// findings works.
func testDeployments(t *testing.T, w *world) {
	out, err := w.api().ListDeployments(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff([]api.Deployment{w.ownDeployment()}, out.Deployments); diff != "" {
		t.Errorf("deployments (-want +got):\n%s", diff)
	}
	if a := w.send(t, request{method: "GET", path: out.Deployments[0].Findings.URL}); a.status != 200 {
		t.Errorf("its findings: %s", a.body)
	}
	if err := w.api("").Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

func (w *world) ownDeployment() api.Deployment {
	return api.Deployment{
		ID: w.deployment.ID, Name: "Acme", Slug: "acme",
		Findings: api.DeploymentFindings{URL: w.url + "/api/v1/deployments/acme/findings"},
	}
}

// testMe checks that a token can read its properties, without its secret.
func testMe(t *testing.T, w *world) {
	for _, token := range []model.Token{
		{Name: "plain", Scopes: []model.Scope{model.ScopeWebAPI}},
		{Name: "bound", Scopes: []model.Scope{model.ScopeWebAPI, model.ScopeReadOnly}, ProjectGlobs: []string{"group/**"}, Dialect: model.DialectHosted, ExpiresAt: w.clock.Now().Add(time.Hour)},
	} {
		secret := w.newToken(t, token)
		a := w.send(t, request{method: "GET", path: "/api/v1/me", token: secret})
		got := read[api.MeResponse](t, a)
		scopes := mapped(token.Scopes, func(s model.Scope) string { return string(s) })
		want := api.MeResponse{Token: api.TokenInfo{
			ID: got.Token.ID, Name: token.Name, Scopes: scopes, Projects: append([]string{}, token.ProjectGlobs...),
			Dialect: string(cmp.Or(token.Dialect, model.DialectContract)), ExpiresAt: api.NewTime(token.ExpiresAt),
		}, Deployment: w.ownDeployment()}
		if diff := gocmp.Diff(want, got); diff != "" || strings.Contains(string(a.body), secret) {
			t.Errorf("%s (-want +got):\n%s%s", token.Name, diff, a.body)
		}
	}
}

// testCompression checks that responses are compressed as requested (docs/reference/requests.md),
// with the same contents.
func testCompression(t *testing.T, w *world) {
	plain := w.send(t, request{method: "GET", path: "projects"})
	for encoding, open := range map[string]func(io.Reader) (io.Reader, error){
		"gzip": func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
		"zstd": func(r io.Reader) (io.Reader, error) { return zstd.NewReader(r) },
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.address("projects"), nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept-Encoding", encoding)
		req.Header.Set("Authorization", "Bearer "+w.token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if got := resp.Header.Get("Content-Encoding"); got != encoding {
			t.Errorf("requested %s, got %q", encoding, got)
			continue
		}
		r, err := open(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(r); err != nil || string(body) != string(plain.body) {
			t.Errorf("%s: %v, %d bytes, want %d", encoding, err, len(body), len(plain.body))
		}
	}
}

// TestPolicyFilterUsesCurrentMode checks that the filter policies uses the current mode of a rule, also after a command
// changed it.
func TestPolicyFilterUsesCurrentMode(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		code := smallSite(t, s)
		rule := code[0].RuleName
		blocked := func() int {
			return len(s.findings(t, url.Values{"policies": {"rule-board-block"}, "rules": {rule}}).SASTFindings.Findings)
		}
		for _, mode := range []model.PolicyMode{model.ModeBlock, model.ModeComment, model.ModeBlock} {
			err := s.store.Update(t.Context(), s.deployment.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
				policies, err := tx.Policies(ctx)
				for _, p := range policies {
					if p.Product == model.SAST {
						_, err = tx.SetRuleMode(ctx, p.ID, rule, mode)
					}
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := blocked() > 0; got != (mode == model.ModeBlock) {
				t.Errorf("in mode %s, rule-board-block has %d findings", mode, blocked())
			}
		}
	})
}
