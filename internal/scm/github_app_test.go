package scm_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/redoubt/redoubt"
)

func TestAppsShowTheirInstallationsToken(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	made, asked := 0, ""
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
				asked = string(text)
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
	credential := redoubt.HostCredential{Kind: redoubt.CredentialApp, AppID: 11, InstallationID: 12, Secret: string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))}
	h, err := config(loopback).Open(redoubt.Connection{Kind: redoubt.HostGitHub, BaseURL: s.URL}, credential)
	if err != nil {
		t.Fatal(err)
	}
	who, err := h.Who(t.Context())
	if err != nil || who.Login != "redoubt[bot]" {
		t.Errorf("who: %+v, %v", who, err)
	}
	for range 2 {
		if err := h.Repositories(t.Context(), func([]redoubt.Repository) error { return nil }); err != nil {
			t.Error(err)
		}
	}
	if made != 1 {
		t.Errorf("%d tokens were made for two questions, want 1", made)
	}
	token, err := config(loopback).CloneToken(t.Context(), redoubt.Connection{Kind: redoubt.HostGitHub, BaseURL: s.URL}, credential, redoubt.Repository{HostID: "7"})
	if err != nil || token != "ghs_1" || asked != `{"repository_ids":[7],"permissions":{"contents":"read"}}` {
		t.Errorf("a token for git: %q, %v, asked for %s", token, err, asked)
	}
	credential.Secret = "no key"
	if _, err := config(loopback).Open(redoubt.Connection{Kind: redoubt.HostGitHub, BaseURL: s.URL}, credential); err == nil {
		t.Error("what is no key was taken")
	}
}

// signed reports whether the key's owner made a JSON Web Token.
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
