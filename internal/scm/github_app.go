package scm

import (
	"bytes"
	"context"
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
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// appKey parses the private key of a GitHub App.
func appKey(text string) (*rsa.PrivateKey, error) {
	wrong := model.Invalid(
		"credential.secret", "not a private key of a GitHub App: paste the .pem file from GitHub",
	)
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

// appTransport authenticates requests with the token of an app's installation and renews it before
// it expires. Requests about the app itself use a JSON Web Token of the app.
type appTransport struct {
	base              http.RoundTripper
	key               *rsa.PrivateKey
	app, installation int64
	api               string
	clock             func() time.Time
	who               requester
	tokens            *Tokens

	mu sync.Mutex // ensures that concurrent requests create one token
}

// RoundTrip implements http.RoundTripper.
func (t *appTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/app") {
		proof, err := t.proof()
		if err != nil {
			return nil, err
		}
		return t.show(r, proof)
	}
	token, cached, err := t.current(r.Context())
	if err != nil {
		return nil, err
	}
	answer, err := t.show(r, token)
	if !unknownTo(err) && (!cached || !t.tokens.lacks(t.who, token, err, t.clock())) {
		return answer, err
	}
	t.tokens.drop(t.who, token)
	if retry, ok := repeated(r); cached && ok { // the app was reinstalled, or the token revoked
		if token, _, err = t.current(r.Context()); err == nil {
			return t.show(retry, token)
		}
	}
	return nil, err
}

// show sends a request with a token.
func (t *appTransport) show(r *http.Request, token string) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	return t.base.RoundTrip(r)
}

// repeated returns a copy of a request to send again. ok is false if its body cannot be read again.
func repeated(r *http.Request) (retry *http.Request, ok bool) {
	retry = r.Clone(r.Context())
	if r.Body == nil {
		return retry, true
	}
	if r.GetBody == nil {
		return nil, false
	}
	body, err := r.GetBody()
	retry.Body = body
	return retry, err == nil
}

// unknownTo reports whether a host rejected the credential.
func unknownTo(err error) bool {
	no, is := errors.AsType[*HostError](err)
	return is && no.Status == http.StatusUnauthorized
}

// proof returns a JSON Web Token that authenticates the app for eight minutes.
func (t *appTransport) proof() (string, error) {
	now := t.clock()
	claims, err := json.Marshal(map[string]any{
		"iat": now.Add(-time.Minute).Unix(),
		"exp": now.Add(8 * time.Minute).Unix(),
		"iss": fmt.Sprint(t.app),
	})
	if err != nil {
		return "", err
	}
	text := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"RS256","typ":"JWT"}`)) + "." +
		base64.RawURLEncoding.EncodeToString(claims)
	sum := sha256.Sum256([]byte(text))
	signed, err := rsa.SignPKCS1v15(rand.Reader, t.key, crypto.SHA256, sum[:])
	return text + "." + base64.RawURLEncoding.EncodeToString(signed), err
}

// current returns the installation's token and whether it was cached.
func (t *appTransport) current(ctx context.Context) (token string, cached bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if token, cached = t.tokens.find(t.who, t.clock()); cached {
		return token, true, nil
	}
	token, until, err := t.make(ctx, nil)
	if err == nil {
		t.tokens.put(t.who, token, t.clock(), until)
	}
	return token, false, err
}

// narrow restricts the repositories and permissions of an installation token.
type narrow struct {
	RepositoryIDs []int64           `json:"repository_ids"`
	Permissions   map[string]string `json:"permissions"`
}

// make creates a token of the installation. If only is nil, the token has all permissions of the
// installation.
func (t *appTransport) make(ctx context.Context, only *narrow) (token string, until time.Time, err error) {
	proof, err := t.proof()
	if err != nil {
		return "", until, err
	}
	address, err := url.JoinPath(t.api, "app", "installations", fmt.Sprint(t.installation), "access_tokens")
	if err != nil {
		return "", until, err
	}
	text := []byte{}
	if only != nil {
		if text, err = json.Marshal(only); err != nil {
			return "", until, err
		}
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(text))
	if err != nil {
		return "", until, err
	}
	q.Header.Set("Authorization", "Bearer "+proof)
	q.Header.Set("Accept", "application/vnd.github+json")
	answer, err := t.base.RoundTrip(q)
	if err != nil {
		return "", until, err
	}
	defer answer.Body.Close()
	var made struct {
		Token     string    `json:"token"`
		ExpiresAt time.Time `json:"expires_at"`
	}
	if text, err = io.ReadAll(answer.Body); err == nil {
		err = json.Unmarshal(text, &made)
	}
	if err == nil && made.Token == "" {
		err = errors.New("the host returned no token for the app's installation")
	}
	return made.Token, made.ExpiresAt, err
}

// CloneToken creates a token that can only read the contents of one repository, for an hour. The
// connection must use a GitHub App.
func (c Config) CloneToken(
	ctx context.Context, at model.Connection, credential model.HostCredential, r model.Repository,
) (string, error) {
	key, err := appKey(credential.Secret)
	if err != nil {
		return "", err
	}
	id, err := strconv.ParseInt(r.HostID, 10, 64)
	if err != nil {
		return "", fmt.Errorf("repository %.40q: %w", r.HostID, model.ErrNotFound)
	}
	t := &appTransport{
		base:         c.client(askerOf(at, credential)).Transport,
		key:          key,
		app:          credential.AppID,
		installation: credential.InstallationID,
		api:          githubAPI(at.BaseURL),
		clock:        c.Clock,
	}
	token, _, err := t.make(ctx, &narrow{[]int64{id}, map[string]string{"contents": "read"}})
	return token, explained(err)
}
