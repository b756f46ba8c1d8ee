package cli

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/cli/webapi"
)

// TestUntestableLoginTokenIsRevoked checks that a token that cannot be tested is not stored, and
// is revoked.
func TestUntestableLoginTokenIsRevoked(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	for _, c := range []struct {
		name     string
		revokes  bool
		wants    string
		wantsNot string
	}{
		{name: "and responds", revokes: true, wantsNot: "/settings/tokens"},
		{name: "and fails to revoke", wants: "/settings/tokens"},
	} {
		var revoked []string
		site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch _, step, _ := strings.Cut(r.URL.Path, "/oauth2/"); step {
			case "register":
				_, _ = io.WriteString(w, `{"client_id":"me"}`)
			case "device_authorization":
				_, _ = io.WriteString(w, `{"device_code":"d","user_code":"ABCD-2345","verification_uri":"http://x/device","expires_in":60,"interval":1}`)
			case "token":
				_, _ = io.WriteString(w, `{"access_token":"a","refresh_token":"again","expires_in":3600}`)
			case "revoke":
				revoked = append(revoked, r.FormValue("token"))
				if !c.revokes {
					w.WriteHeader(http.StatusTeapot)
				}
				_, _ = io.WriteString(w, `{}`)
			default:
				w.WriteHeader(http.StatusForbidden)
			}
		}))
		err := LoginCmd{URL: site.URL, NoBrowser: true}.Run(&command.App{Ctx: t.Context(), Out: io.Discard, Err: &bytes.Buffer{}, Clock: time.Now, Getenv: os.Getenv, Environ: os.Environ})
		site.Close()
		if err == nil || !strings.Contains(err.Error(), c.wants) || c.wantsNot != "" && strings.Contains(err.Error(), c.wantsNot) {
			t.Errorf("%s: %v", c.name, err)
		}
		if !slices.Equal(revoked, []string{"again"}) {
			t.Errorf("%s: revoked %q", c.name, revoked)
		}
		if stored, err := webapi.ReadLogin(); err != nil || stored.Token != "" {
			t.Errorf("%s: kept %q, %v", c.name, stored.URL, err)
		}
	}
}
