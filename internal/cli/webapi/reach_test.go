package webapi

import (
	"testing"

	"github.com/redoubt/redoubt/internal/config"
)

// TestCommandTargetPrecedence checks that a database flag takes precedence over a server, and that the
// default directory is the last choice.
func TestCommandTargetPrecedence(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("HOME", home)
	for name, c := range map[string]struct {
		reach  Reach
		direct bool
		fails  bool
	}{
		"a folder":            {reach: Reach{Storage: config.Storage{Data: "x"}}, direct: true},
		"PostgreSQL":          {reach: Reach{Storage: config.Storage{DatabaseURL: "postgres://x"}}, direct: true},
		"a folder, and token": {reach: Reach{Storage: config.Storage{Data: "x"}, Token: "rdt"}, direct: true},
		"both":                {reach: Reach{Storage: config.Storage{Data: "x"}, URL: "http://x"}, fails: true},
		"a server":            {reach: Reach{URL: "http://x"}},
		"a token":             {reach: Reach{Token: "rdt"}},
		"nothing":             {},
	} {
		if direct, err := c.reach.usesDatabase(); direct != c.direct || (err != nil) != c.fails {
			t.Errorf("%s: beside %v, %v", name, direct, err)
		}
	}
}
