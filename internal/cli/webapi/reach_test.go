package webapi

import (
	"testing"

	"github.com/redoubt/redoubt/internal/config"
)

// TestWhereCommandsWork checks that a database flag takes precedence over a server, and that the
// default directory is the last choice.
func TestWhereCommandsWork(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("HOME", home)
	for name, c := range map[string]struct {
		reach  Reach
		beside bool
		fails  bool
	}{
		"a folder":            {reach: Reach{Storage: config.Storage{Data: "x"}}, beside: true},
		"PostgreSQL":          {reach: Reach{Storage: config.Storage{DatabaseURL: "postgres://x"}}, beside: true},
		"a folder, and token": {reach: Reach{Storage: config.Storage{Data: "x"}, Token: "rdt"}, beside: true},
		"both":                {reach: Reach{Storage: config.Storage{Data: "x"}, URL: "http://x"}, fails: true},
		"a server":            {reach: Reach{URL: "http://x"}},
		"a token":             {reach: Reach{Token: "rdt"}},
		"nothing":             {},
	} {
		if beside, err := c.reach.besideDatabase(); beside != c.beside || (err != nil) != c.fails {
			t.Errorf("%s: beside %v, %v", name, beside, err)
		}
	}
}
