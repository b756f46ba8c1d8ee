package ui

import "testing"

// TestCookieRequiresSameKey checks that servers with the same key can open each other's cookies,
// and others cannot.
func TestCookieRequiresSameKey(t *testing.T) {
	one, _ := newOnce([]byte("0123456789abcdef"))
	same, _ := newOnce([]byte("0123456789abcdef"))
	other, _ := newOnce([]byte("0123456789abcdeX"))
	sealed := one.Seal(nil, nil, []byte("secret"), []byte("scope"))
	if text, err := same.Open(nil, nil, sealed, []byte("scope")); err != nil || string(text) != "secret" {
		t.Errorf("the same key: %q, %v", text, err)
	}
	if _, err := other.Open(nil, nil, sealed, []byte("scope")); err == nil {
		t.Error("another key opens it")
	}
	if _, err := newOnce([]byte("short")); err == nil {
		t.Error("a short key is accepted")
	}
}
