package ui

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/redoubt/redoubt/internal/httpx"
)

// TestPageLinksIgnoreHostHeader checks that pages use the origin of the request context
// instead of the Host header.
func TestPageLinksIgnoreHostHeader(t *testing.T) {
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://evil.example/", nil)
	r = r.WithContext(httpx.WithOrigin(r.Context(), httpx.Origin{Base: "http://127.0.0.1:8080"}))
	if got := (&Request{Pages: &Pages{}, HTTP: r}).BaseURL(); got != "http://127.0.0.1:8080" {
		t.Errorf("links start with %s", got)
	}
}
