package webapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// renewBefore is how long before its expiry a token is renewed.
const renewBefore = time.Minute

// errOver means that the user has to sign in again.
var errOver = errors.New("your sign-in has expired")

// With returns the login with newly issued tokens.
func (l Login) With(issued IssuedToken, now time.Time) Login {
	l.Token, l.Refresh, l.Expires = issued.Access, issued.Refresh, now.Add(time.Duration(issued.Expires)*time.Second)
	return l
}

// good reports whether the token can be used: it was not rejected and does not expire soon.
func (l Login) good(refused string, now time.Time) bool {
	return l.Token != refused && now.Before(l.Expires.Add(-renewBefore))
}

// Revoke revokes a login that has a refresh token. Other logins are not revoked.
func (l Login) Revoke(ctx context.Context) error {
	if l.Refresh == "" {
		return nil
	}
	return AuthServer(l.URL).Post(ctx, "revoke", url.Values{"token": {l.Refresh}}, &struct{}{})
}

// renewLogin renews the stored login unless another process already did. Renewals are serialized,
// as using a refresh token twice ends the login.
func renewLogin(ctx context.Context, mine Login, refused string, clock func() time.Time) (Login, error) {
	unlock, err := LockLogin(ctx)
	if err != nil {
		return mine, err
	}
	defer unlock()
	now, err := ReadLogin()
	switch {
	case err != nil:
		return mine, err
	case now.URL != mine.URL || now.Refresh == "":
		return mine, fmt.Errorf("%w: the stored login was removed or replaced", errOver)
	case now.good(refused, clock()):
		return now, nil
	}
	// The previous token may be invalid from here on, so the new one is stored even if ctx is
	// canceled.
	ctx = context.WithoutCancel(ctx)
	var issued IssuedToken
	err = AuthServer(now.URL).Post(ctx, "token", url.Values{
		"grant_type":    {"refresh_token"},
		"client_id":     {now.ClientID},
		"refresh_token": {now.Refresh},
	}, &issued)
	if e, is := errors.AsType[*AuthError](err); is {
		return mine, fmt.Errorf("%w: run redoubt login %s: %w", errOver, now.URL, e)
	}
	if err != nil {
		return mine, fmt.Errorf("renew the sign-in to %s: %w", now.URL, err)
	}
	now = now.With(issued, clock())
	if err := storeLogin(now); err != nil {
		return now, &unkeptError{err}
	}
	return now, nil
}

// unkeptError means that a login was renewed but could not be stored. The stored one is no longer
// valid.
type unkeptError struct{ error }

// renewing is a transport that adds the stored token to requests. It renews the token before it
// expires, and after the server rejects it.
type renewing struct {
	next     http.RoundTripper
	clock    func() time.Time
	mu       sync.Mutex
	stored   Login
	messages io.Writer // for messages to the user
}

// RoundTrip sends a request. A request without a token was redirected to another host and receives
// none.
func (t *renewing) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Authorization") == "" {
		return t.next.RoundTrip(r)
	}
	token, err := t.token(r.Context(), "")
	if err != nil {
		return nil, err
	}
	resp, err := t.next.RoundTrip(withBearer(r, token))
	if err != nil || resp.StatusCode != http.StatusUnauthorized || r.Body != nil && r.GetBody == nil {
		return resp, err
	}
	renewed, err := t.token(r.Context(), token)
	if err != nil || renewed == token {
		return resp, nil //nolint:nilerr // the refusal says what to do
	}
	second := withBearer(r, renewed)
	if r.Body != nil {
		if second.Body, err = r.GetBody(); err != nil {
			return resp, nil //nolint:nilerr // as above
		}
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer)) // only allows reuse of the connection
	_ = resp.Body.Close()                                            // as above
	return t.next.RoundTrip(second)
}

func withBearer(r *http.Request, token string) *http.Request {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

// token returns a token to send that differs from the rejected one.
func (t *renewing) token(ctx context.Context, refused string) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stored.good(refused, t.clock()) {
		return t.stored.Token, nil
	}
	fresh, err := renewLogin(ctx, t.stored, refused, t.clock)
	_, unkept := errors.AsType[*unkeptError](err)
	switch {
	case err == nil:
		t.stored = fresh
	case unkept: // only this process can use it
		fmt.Fprintf(t.messages,
			"The renewed sign-in could not be stored: %v. Run redoubt login %s before the next command.\n", err, fresh.URL)
		t.stored, err = fresh, nil
	case refused == "" && !errors.Is(err, errOver) && t.clock().Before(t.stored.Expires): // still valid
		err = nil
	}
	return t.stored.Token, err
}

// lockWait is the maximum wait for another process.
const lockWait = time.Minute

// LockLogin acquires the lock for changing the login. The lock is held until unlock is called or
// the process ends.
func LockLogin(ctx context.Context) (unlock func(), err error) {
	name, err := LoginFile()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(strings.TrimSuffix(name, ".json")+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(
		ctx, lockWait, errors.New("another redoubt process locked the login for a minute"),
	)
	defer cancel()
	for !tryLock(f) {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), f.Close())
		}
	}
	return func() { _ = f.Close() }, nil // nothing was written
}
