package scm_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/scm"
)

func TestAppUsesInstallationToken(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	made, requested := 0, ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		answer := `{"total_count":0,"repositories":[]}`
		switch r.URL.Path {
		case "/api/v3/app", "/api/v3/app/installations/12/access_tokens":
			if !signed(key, shown) {
				t.Errorf("%s was shown %q", r.URL.Path, shown)
			}
			answer = `{"id":11,"slug":"redoubt"}`
			if r.Method == http.MethodPost {
				made++
				text, _ := io.ReadAll(r.Body)
				requested = string(text)
				answer = `{"token":"ghs_1","expires_at":"2100-01-01T00:00:00Z"}`
			}
		default:
			if shown != "ghs_1" {
				t.Errorf("%s was shown %q", r.URL.Path, shown)
			}
		}
		_, _ = w.Write([]byte(answer))
	}))
	defer s.Close()
	credential := model.HostCredential{Kind: model.CredentialApp, AppID: 11, InstallationID: 12, Secret: string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))}
	h, err := config(loopback).Open(model.Connection{Kind: model.HostGitHub, BaseURL: s.URL}, credential)
	if err != nil {
		t.Fatal(err)
	}
	who, err := h.Who(t.Context())
	if err != nil || who.Login != "redoubt[bot]" {
		t.Errorf("who: %+v, %v", who, err)
	}
	for range 2 {
		if err := h.Repositories(t.Context(), func([]model.Repository) error { return nil }); err != nil {
			t.Error(err)
		}
	}
	if made != 1 {
		t.Errorf("%d tokens were made for two questions, want 1", made)
	}
	token, err := config(loopback).CloneToken(t.Context(), model.Connection{Kind: model.HostGitHub, BaseURL: s.URL}, credential, model.Repository{HostID: "7"})
	if err != nil || token != "ghs_1" || requested != `{"repository_ids":[7],"permissions":{"contents":"read"}}` {
		t.Errorf("a token for git: %q, %v, asked for %s", token, err, requested)
	}
	credential.Secret = "no key"
	if _, err := config(loopback).Open(model.Connection{Kind: model.HostGitHub, BaseURL: s.URL}, credential); err == nil {
		t.Error("an invalid key was accepted")
	}
}

// githubApp is a GitHub server that creates tokens for the installation of an app. It accepts only
// the newest token and records its responses.
type githubApp struct {
	*httptest.Server
	credential model.HostCredential
	now        time.Time
	made       int
	revoked    bool // whether the newest token is revoked
	answers    []string
}

func newGitHubApp(t *testing.T) *githubApp {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	g := &githubApp{
		now:        time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC),
		credential: model.HostCredential{Kind: model.CredentialApp, AppID: 11, InstallationID: 12, Secret: string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))},
	}
	g.Server = httptest.NewServer(g)
	t.Cleanup(g.Close)
	return g
}

func (g *githubApp) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodPost:
		g.made++
		g.revoked = false
		fmt.Fprintf(w, `{"token":"ghs_%d","expires_at":%q}`, g.made, g.now.Add(time.Hour).Format(time.RFC3339))
	case r.Header.Get("Authorization") != fmt.Sprintf("Bearer ghs_%d", g.made) || g.revoked:
		g.answers = append(g.answers, "unknown")
		w.WriteHeader(http.StatusUnauthorized)
	case r.Header.Get("If-None-Match") == `"1"`:
		g.answers = append(g.answers, "unchanged")
		w.WriteHeader(http.StatusNotModified)
	default:
		g.answers = append(g.answers, "told")
		w.Header().Set("ETag", `"1"`)
		_, _ = w.Write([]byte(`{"total_count":0,"repositories":[]}`))
	}
}

// TestAppRequestsShareToken checks that an app's requests share one token until shortly before
// it expires. They also share cached responses, independently of the token.
func TestAppRequestsShareToken(t *testing.T) {
	g := newGitHubApp(t)
	c := config(loopback)
	c.Clock = func() time.Time { return g.now }
	c.Known, c.Tokens = scm.NewKnown(), scm.NewTokens()
	round := func(of model.HostCredential) {
		t.Helper()
		h, err := c.Open(model.Connection{Kind: model.HostGitHub, BaseURL: g.URL}, of)
		if err == nil {
			err = h.Repositories(t.Context(), func([]model.Repository) error { return nil })
		}
		if err != nil {
			t.Error(err)
		}
	}
	other := newGitHubApp(t).credential // same ids, different key
	for _, step := range []struct {
		what    string
		do      func()
		made    int
		answers string
	}{
		{"at first", func() { round(g.credential) }, 1, "told"},
		{"five minutes later", func() { g.now = g.now.Add(5 * time.Minute); round(g.credential) }, 1, "unchanged"},
		{"another key", func() { round(other) }, 2, "told"},
		{"the first, whose token this host takes no more", func() { round(g.credential) }, 3, "unknown unchanged"},
		{"six minutes before it ends", func() { g.now = g.now.Add(54 * time.Minute); round(g.credential) }, 3, "unchanged"},
		{"five minutes before it ends", func() { g.now = g.now.Add(time.Minute); round(g.credential) }, 4, "unchanged"},
		{"once it was revoked", func() { g.revoked = true; round(g.credential) }, 5, "unknown unchanged"},
		{"once those are forgotten who asked nothing for an hour", func() { c.Forget(g.now.Add(-time.Hour)); round(g.credential) }, 5, "unchanged"},
		{"an hour later, when it is one of them", func() { g.now = g.now.Add(time.Minute); c.Forget(g.now); round(g.credential) }, 6, "told"},
	} {
		g.answers = nil
		step.do()
		equal(t, "tokens made "+step.what, nil, g.made, step.made)
		equal(t, "answers "+step.what, nil, strings.Join(g.answers, " "), step.answers)
	}
}

// TestRejectedNewTokenIsNotRenewed checks that the host's error is returned if it
// rejects a new token.
func TestRejectedNewTokenIsNotRenewed(t *testing.T) {
	g := newGitHubApp(t)
	c := config(loopback)
	c.Clock = func() time.Time { return g.now }
	made := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			made++
			fmt.Fprintf(w, `{"token":"x","expires_at":%q}`, g.now.Add(time.Hour).Format(time.RFC3339))
			return
		}
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(s.Close)
	h, err := c.Open(model.Connection{Kind: model.HostGitHub, BaseURL: s.URL}, g.credential)
	if err != nil {
		t.Fatal(err)
	}
	err = h.Repositories(t.Context(), func([]model.Repository) error { return nil })
	if no, is := errors.AsType[*scm.HostError](err); !is || no.Status != http.StatusUnauthorized || made != 1 {
		t.Errorf("%v, with %d tokens", err, made)
	}
}

// signed reports whether a JSON Web Token is signed with the key.
func signed(key *rsa.PrivateKey, token string) bool {
	text, signature, found := cutLast(token, ".")
	raw, err := base64.RawURLEncoding.DecodeString(signature)
	sum := sha256.Sum256([]byte(text))
	return found && err == nil && rsa.VerifyPKCS1v15(&key.PublicKey, crypto.SHA256, sum[:], raw) == nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// TestRejectedRequestRenewsCachedToken checks that a rejected request renews a cached token. A token has the
// permissions of the app at its creation. A new token is not renewed again at once.
func TestRejectedRequestRenewsCachedToken(t *testing.T) {
	g := newGitHubApp(t)
	c := config(loopback)
	c.Clock, c.Tokens = func() time.Time { return g.now }, scm.NewTokens()
	made, granted := 0, 1000 // the number of the first token with the permission
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			made++
			fmt.Fprintf(w, `{"token":"%d","expires_at":%q}`, made, g.now.Add(time.Hour).Format(time.RFC3339))
			return
		}
		if token, _ := strconv.Atoi(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")); token < granted {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		fmt.Fprint(w, `{"repositories":[]}`)
	}))
	t.Cleanup(s.Close)
	for _, step := range []struct {
		what    string
		passes  time.Duration
		grants  bool
		made    int
		refused bool
	}{
		{"at first", 0, false, 1, true},
		{"at once again", time.Second, false, 1, true},
		{"a while later", 2 * time.Minute, false, 2, true},
		{"once it is given, with a young token", time.Second, true, 2, true},
		{"a while later", time.Minute, false, 3, false},
		{"again", 2 * time.Minute, false, 3, false},
	} {
		if g.now = g.now.Add(step.passes); step.grants {
			granted = made + 1
		}
		h, err := c.Open(model.Connection{Kind: model.HostGitHub, BaseURL: s.URL}, g.credential)
		if err != nil {
			t.Fatal(err)
		}
		err = h.Repositories(t.Context(), func([]model.Repository) error { return nil })
		if refused := err != nil; refused != step.refused || made != step.made {
			t.Errorf("%s: %v, with %d tokens, want %d", step.what, err, made, step.made)
		}
	}
}
