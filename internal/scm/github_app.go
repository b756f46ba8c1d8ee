package scm

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/redoubt/redoubt"
)

// appKey reads the private key of a GitHub App.
func appKey(text string) (*rsa.PrivateKey, error) {
	wrong := redoubt.Invalid("credential.secret", "this is no private key of a GitHub App: paste the .pem file that GitHub made")
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, wrong
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	key, is := parsed.(*rsa.PrivateKey)
	if err != nil || !is {
		return nil, wrong
	}
	return key, nil
}

// appTransport shows the token of an app's installation, which lasts an hour, and
// fetches another in time; questions about the app itself show the app.
type appTransport struct {
	base              http.RoundTripper
	key               *rsa.PrivateKey
	app, installation int64
	api               string
	clock             func() time.Time

	mu    sync.Mutex
	token string
	until time.Time
}

// RoundTrip implements http.RoundTripper.
func (t *appTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	var shown string
	var err error
	if strings.HasSuffix(r.URL.Path, "/app") {
		shown, err = t.proof()
	} else {
		shown, err = t.current(r)
	}
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+shown)
	return t.base.RoundTrip(r)
}

// proof says who the app is: a JSON Web Token, for some minutes.
func (t *appTransport) proof() (string, error) {
	now := t.clock()
	claims, err := json.Marshal(map[string]any{"iat": now.Add(-time.Minute).Unix(), "exp": now.Add(8 * time.Minute).Unix(), "iss": fmt.Sprint(t.app)})
	if err != nil {
		return "", err
	}
	text := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"RS256","typ":"JWT"}`)) + "." + base64.RawURLEncoding.EncodeToString(claims)
	sum := sha256.Sum256([]byte(text))
	signed, err := rsa.SignPKCS1v15(rand.Reader, t.key, crypto.SHA256, sum[:])
	return text + "." + base64.RawURLEncoding.EncodeToString(signed), err
}

// current is the installation's token, which is renewed five minutes before its end.
func (t *appTransport) current(r *http.Request) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token != "" && t.clock().Add(5*time.Minute).Before(t.until) {
		return t.token, nil
	}
	proof, err := t.proof()
	if err != nil {
		return "", err
	}
	address, err := url.JoinPath(t.api, "app", "installations", fmt.Sprint(t.installation), "access_tokens")
	if err != nil {
		return "", err
	}
	q, err := http.NewRequestWithContext(r.Context(), http.MethodPost, address, nil)
	if err != nil {
		return "", err
	}
	q.Header.Set("Authorization", "Bearer "+proof)
	q.Header.Set("Accept", "application/vnd.github+json")
	answer, err := t.base.RoundTrip(q)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	var made struct {
		Token     string    `json:"token"`
		ExpiresAt time.Time `json:"expires_at"`
	}
	text, err := io.ReadAll(answer.Body)
	if err == nil {
		err = json.Unmarshal(text, &made)
	}
	if err == nil && made.Token == "" {
		err = errors.New("the host made no token for the app's installation")
	}
	t.token, t.until = made.Token, made.ExpiresAt
	return t.token, err
}
