package oauth_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/mcp"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/oauth"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
	"github.com/redoubt/redoubt/internal/web"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// world is a server with its pages, two deployments and a user with roles in both.
type world struct {
	*testing.T
	store *store.Store
	clock *storetest.Clock
	url   string
	role  model.Role // of the user
	ours  model.Deployment
	other model.Deployment
}

// Viewer returns the viewer of a page: ada, in the deployment of the address.
func (w *world) Viewer(r *http.Request) (web.Viewer, error) {
	d, err := w.store.Deployment(r.Context(), r.PathValue("deployment"))
	return web.Viewer{User: "ada", Role: w.role, Deployment: d}, err
}

func newWorld(t *testing.T, engine string) *world {
	t.Helper()
	w := &world{T: t, clock: storetest.NewClock(), role: model.RoleTriager}
	w.store = storetest.Open(t, storetest.Database(t, engine, w.clock))
	keys := httpx.OneKey([]byte("0123456789abcdef0123456789abcdef"))
	findings := index.New(w.store, index.Options{BodyCache: 1 << 20, Clock: w.clock.Now})
	logger := slog.New(slog.DiscardHandler)
	pages, err := web.New(web.Config{Store: w.store, Index: findings, Clock: w.clock.Now, Logger: logger, SigningKeys: keys, Viewers: w, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	var srv *apihttp.Server
	assistants := mcp.NewHTTP(mcp.HTTPConfig{API: func() http.Handler { return srv.Handler() }, Version: "test", Clock: w.clock.Now, Challenge: oauth.Challenge})
	clients := oauth.New(oauth.Config{Store: w.store, Keys: keys.All, Clock: w.clock.Now})
	srv, err = apihttp.New(apihttp.Config{
		Store: w.store, Index: findings, Clock: w.clock.Now, Logger: logger, SigningKeys: keys, SecretKey: []byte("a key for secrets"), Version: "test",
		Mounted: append(clients.Routes(), assistants.Routes()...), Pages: pages.Handler(),
	})
	if err != nil {
		t.Fatal(err)
	}
	site := httptest.NewServer(srv.Handler())
	t.Cleanup(site.Close)
	w.url = site.URL
	w.ours, w.other = w.deployment("acme"), w.deployment("other")
	w.update(w.ours, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.CreateUser(ctx, model.User{Name: "ada"}, model.RoleTriager)
		return err
	})
	ada, err := w.store.User(t.Context(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	w.update(w.other, func(ctx context.Context, tx *store.Tx) error { return tx.SetRole(ctx, ada.ID, model.RoleTriager) })
	return w
}

func (w *world) deployment(slug string) model.Deployment {
	w.Helper()
	d, err := w.store.CreateDeployment(w.Context(), slug, slug, storetest.Actor)
	if err != nil {
		w.Fatal(err)
	}
	return d
}

func (w *world) update(d model.Deployment, fn func(context.Context, *store.Tx) error) {
	w.Helper()
	if err := w.store.Update(w.Context(), d.ID, storetest.Actor, fn); err != nil {
		w.Fatal(err)
	}
}

// response is a response.
type response struct {
	status int
	header http.Header
	text   string
	json   map[string]any
}

func (s response) get(name string) string { text, _ := s.json[name].(string); return text }

func (w *world) do(r *http.Request) (out response) {
	w.Helper()
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		w.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		w.Fatal(err)
	}
	out = response{status: resp.StatusCode, header: resp.Header, text: string(text)}
	_ = json.Unmarshal(text, &out.json)
	return out
}

func (w *world) request(method, path string, body string, media, token string) response {
	w.Helper()
	r, err := http.NewRequestWithContext(w.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	if media != "" {
		r.Header.Set("Content-Type", media)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return w.do(r)
}

func (w *world) fetch(path string) response { return w.request(http.MethodGet, path, "", "", "") }

func (w *world) post(path string, form url.Values) response {
	return w.request(http.MethodPost, path, form.Encode(), "application/x-www-form-urlencoded", "")
}

// here is the redirect address of the test client.
const here = "http://127.0.0.1:7777/callback"

const verifier = "a-verifier-that-no-one-can-guess-0123456789-abcdef"

func challengeOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// register registers a client.
func (w *world) register(redirects ...string) string {
	w.Helper()
	body, err := json.Marshal(map[string]any{"client_name": "An editor", "redirect_uris": redirects})
	if err != nil {
		w.Fatal(err)
	}
	s := w.request(http.MethodPost, "/api/auth/oauth2/register", string(body), "application/json", "")
	if s.status != http.StatusCreated {
		w.Fatalf("register: %d %s", s.status, s.text)
	}
	return s.get("client_id")
}

// wish returns the parameters of an authorization request.
func wish(client string) url.Values {
	return url.Values{
		"client_id": {client}, "redirect_uri": {here}, "response_type": {"code"}, "code_challenge": {challengeOf(verifier)}, "code_challenge_method": {"S256"},
		"state": {"xyz"}, "scope": {"read write"},
	}
}

// allow approves a client as ada and returns the parameters of the redirect.
func (w *world) allow(slug, access string, wish url.Values) url.Values {
	w.Helper()
	form := url.Values{"answer": {"allow"}, "access": {access}}
	maps.Copy(form, wish)
	s := w.post("/orgs/"+slug+"/authorize", form)
	to, err := url.Parse(s.header.Get("Location"))
	if err != nil || s.status != http.StatusSeeOther {
		w.Fatalf("authorize: %d %s", s.status, s.text)
	}
	return to.Query()
}

// exchange sends a code to the token endpoint.
func (w *world) exchange(client, code string, change url.Values) response {
	form := url.Values{"grant_type": {"authorization_code"}, "client_id": {client}, "code": {code}, "redirect_uri": {here}, "code_verifier": {verifier}}
	maps.Copy(form, change)
	return w.post("/api/auth/oauth2/token", form)
}

func (w *world) renew(client, refresh string) response {
	return w.post("/api/auth/oauth2/token", url.Values{"grant_type": {"refresh_token"}, "client_id": {client}, "refresh_token": {refresh}})
}

// login runs the whole flow and returns the token response.
func (w *world) login(client, access string) response {
	w.Helper()
	s := w.exchange(client, w.allow("acme", access, wish(client)).Get("code"), nil)
	if s.status != http.StatusOK {
		w.Fatalf("exchange: %d %s", s.status, s.text)
	}
	return s
}

// works reports whether a token grants access to the Web API.
func (w *world) works(token string) bool {
	_, err := (&api.Client{BaseURL: w.url, Token: token, Retries: -1}).Me(w.Context())
	return err == nil
}
