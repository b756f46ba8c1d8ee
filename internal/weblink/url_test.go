package weblink

import "testing"

func TestURLDropsSecrets(t *testing.T) {
	for in, want := range map[string]string{
		"https://user:token@github.com/acme/r.git?access_token=x#y": "https://github.com/acme/r",
		"\thttps://GitHub.com/acme/r/\n":                            "https://github.com/acme/r",
		"git@host":                                                  "",
		"acme/r":                                                    "",
	} {
		if got := URL(in); got != want {
			t.Errorf("URL(%q) = %q, want %q", in, got, want)
		}
	}
}
