package model_test

import (
	"testing"

	"github.com/redoubt/redoubt/internal/model"
)

func TestAdvisorySourceShownWithoutCredentials(t *testing.T) {
	for location, want := range map[string]string{
		"https://user:pass@feeds.example/npm/all.zip?sig=abc#x": "https://feeds.example/npm/all.zip",
		"https://token@feeds.example:8443/":                     "https://feeds.example:8443/",
		"https://feeds.example/a%20b":                           "https://feeds.example/a%20b",
		"/var/lib/osv?x":                                        "/var/lib/osv?x",
		"osv/npm.zip":                                           "osv/npm.zip",
		"http://user:pa%zz@feeds.example/x?sig=abc":             "http://(invalid address)",
		"https://user:pass@/x?sig=abc":                          "https:///x",
		"HTTPS://user:pass@feeds.example/x":                     "https://feeds.example/x",
	} {
		if got := (model.AdvisorySource{Location: location}).Shown(); got != want {
			t.Errorf("%s is shown as %s, want %s", location, got, want)
		}
	}
}
