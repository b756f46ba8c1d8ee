package main

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/config"
)

// TestOAuthDocumentsIgnoreForeignHostHeaders requests the OAuth documents with Host headers from a server
// without --public-url. URLs in responses must contain only hosts of the server.
func TestOAuthDocumentsIgnoreForeignHostHeaders(t *testing.T) {
	s, stop := startService(t, config.Server{Addr: "127.0.0.1:0", ShutdownTimeout: 5 * time.Second})
	defer stop()
	at := "http://" + s.listener.Addr().String()
	machine, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]string{
		"evil.example": at, "evil.example:80": at, "localhost.evil.example": at, "127.0.0.1.evil.example": at, machine + ".evil.example": at,
		"localhost:4711": "http://localhost:4711", "192.0.2.7:8080": "http://192.0.2.7:8080", "[2001:db8::7]:8080": "http://[2001:db8::7]:8080",
		strings.ToUpper(machine) + ":8080": "http://" + strings.ToUpper(machine) + ":8080",
	} {
		for path, member := range map[string]string{"/.well-known/oauth-authorization-server": "issuer", "/.well-known/oauth-protected-resource": "resource"} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Host = host
			res, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			var document map[string]any
			err = json.NewDecoder(res.Body).Decode(&document)
			if res.Body.Close(); err != nil || document[member] != want {
				t.Errorf("%s for %s: %v %v, want %s", path, host, document[member], err, want)
			}
		}
	}
}
