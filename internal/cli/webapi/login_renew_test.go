package webapi

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestRenewedTokenStaysWithItsServer checks that a request that is redirected to another host has
// no token and receives none. Other requests receive the current token, and are repeated unchanged
// if it is rejected.
func TestRenewedTokenStaysWithItsServer(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	var elsewhere, seen []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		elsewhere = append(elsewhere, r.Header.Get("Authorization"))
	}))
	defer other.Close()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		switch {
		case r.URL.Path == "/away": // localhost and 127.0.0.1 are different hosts
			http.Redirect(w, r, strings.Replace(other.URL, "127.0.0.1", "localhost", 1), http.StatusFound)
		case strings.HasSuffix(r.URL.Path, "/token"):
			if want := "client_id=me&grant_type=refresh_token&refresh_token=first"; string(text) != want {
				t.Errorf("renewed by %q, want %q", text, want)
			}
			_, _ = io.WriteString(w, `{"access_token":"fresh","refresh_token":"second","expires_in":3600}`)
		default:
			seen = append(seen, r.Header.Get("Authorization")+" "+string(text))
			if r.Header.Get("Authorization") != "Bearer fresh" {
				w.WriteHeader(http.StatusUnauthorized)
			}
		}
	}))
	defer site.Close()
	stored := Login{URL: site.URL, Token: "stale", Refresh: "first", ClientID: "me", Expires: now.Add(time.Hour)}
	unlock, err := LockLogin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := storeLogin(stored); err != nil {
		t.Fatal(err)
	}
	unlock()
	client := &http.Client{Transport: &renewing{next: http.DefaultTransport, clock: func() time.Time { return now }, stored: stored, messages: io.Discard}}
	send := func(path string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, site.URL+path, strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer stale")
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	if status := send("/"); status != http.StatusOK || strings.Join(seen, ",") != "Bearer stale body,Bearer fresh body" {
		t.Errorf("%d, the server has seen %q", status, seen)
	}
	if after, err := ReadLogin(); err != nil || after.Token != "fresh" || after.Refresh != "second" || !after.Expires.Equal(now.Add(time.Hour)) {
		t.Errorf("%+v, %v", after, err)
	}
	send("/away")
	if len(elsewhere) != 1 || elsewhere[0] != "" {
		t.Errorf("another server has seen %q", elsewhere)
	}
}

// TestUnstorableRenewedLogin checks that a renewed login that cannot be stored works in this
// process. A message states that the user has to sign in again.
func TestUnstorableRenewedLogin(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", folder)
	t.Setenv("HOME", t.TempDir())
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	name, err := LoginFile()
	if err != nil {
		t.Fatal(err)
	}
	renewals := 0
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/token") {
			renewals++
			// The file cannot be replaced: it is now a non-empty directory.
			if err := errors.Join(os.Remove(name), os.MkdirAll(filepath.Join(name, "x"), 0o700)); err != nil {
				t.Error(err)
			}
			_, _ = io.WriteString(w, `{"access_token":"fresh","refresh_token":"second","expires_in":3600}`)
			return
		}
		if r.Header.Get("Authorization") != "Bearer fresh" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer site.Close()
	stored := Login{URL: site.URL, Token: "stale", Refresh: "first", ClientID: "me", Expires: now.Add(time.Hour)}
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), storeLogin(stored)); err != nil {
		t.Fatal(err)
	}
	var messages strings.Builder
	client := &http.Client{Transport: &renewing{next: http.DefaultTransport, clock: func() time.Time { return now }, stored: stored, messages: &messages}}
	for range 2 {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, site.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer stale")
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("answered %d", resp.StatusCode)
		}
	}
	if renewals != 1 || strings.Count(messages.String(), "redoubt login "+site.URL) != 1 {
		t.Errorf("renewed %d times, and said: %s", renewals, messages.String())
	}
}
