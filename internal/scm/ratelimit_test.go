package scm_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/scm"
)

// TestRateLimits checks that a credential's requests stop for the time of the host's response.
// Other credentials must not be affected.
func TestRateLimits(t *testing.T) {
	now, requests := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests++
		now = now.Add(2 * time.Minute) // the duration of the response
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	t.Cleanup(s.Close)
	c := config(loopback)
	c.RateLimits, c.Clock = scm.NewRateLimits(), func() time.Time { return now }
	wait := func(secret string) time.Duration {
		t.Helper()
		h, err := c.Open(model.Connection{Kind: model.HostGitea, BaseURL: s.URL}, model.HostCredential{Kind: model.CredentialToken, Secret: secret})
		if err != nil {
			t.Fatal(err)
		}
		_, err = h.Who(t.Context())
		busy, is := errors.AsType[*model.BusyError](err)
		if !is {
			t.Fatal(err)
		}
		return busy.Wait
	}
	equal(t, "the host's own wait", nil, wait("a"), time.Minute)
	now = now.Add(20 * time.Second)
	equal(t, "remaining", nil, wait("a"), 40*time.Second)
	equal(t, "how often it was asked", nil, requests, 1)
	equal(t, "another user's", nil, wait("b"), time.Minute)
	now = now.Add(time.Minute)
	equal(t, "after it", nil, wait("a"), time.Minute)
	equal(t, "how often it was asked by then", nil, requests, 3)
}
