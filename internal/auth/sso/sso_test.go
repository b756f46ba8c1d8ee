package sso

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"

	"github.com/redoubt/redoubt/internal/model"
)

func TestRules(t *testing.T) {
	for text, want := range map[string]Rule{
		"sec=triager":            {"sec", "", model.RoleTriager},
		"*=viewer":               {"*", "", model.RoleViewer},
		"sec=acme:admin":         {"sec", "acme", model.RoleAdmin},
		"cn=sec,dc=x=acme:admin": {"cn=sec,dc=x", "acme", model.RoleAdmin},
	} {
		if got, err := ParseRule(text); err != nil || got != want {
			t.Errorf("%q is read as %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "sec", "=admin", "sec=", "sec=owner", "sec=ACME:admin", "sec=:admin", "sec=acme:"} {
		if got, err := ParseRule(text); err == nil {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}

func TestHighestRoleIsUsed(t *testing.T) {
	p := New(Config{Rules: []Rule{
		{"*", "open", model.RoleViewer}, {"sec", "", model.RoleTriager}, {"chiefs", "acme", model.RoleAdmin}, {"sec", "acme", model.RoleViewer},
	}})
	all := []model.Deployment{{ID: 1, Slug: "acme"}, {ID: 2, Slug: "open"}, {ID: 3, Slug: "other"}}
	for _, c := range []struct {
		groups []string
		want   map[int64]model.Role
	}{
		{nil, map[int64]model.Role{2: model.RoleViewer}},
		{[]string{"sec"}, map[int64]model.Role{1: model.RoleTriager, 2: model.RoleTriager, 3: model.RoleTriager}},
		{[]string{"chiefs"}, map[int64]model.Role{1: model.RoleAdmin, 2: model.RoleViewer}},
		{[]string{"SEC"}, map[int64]model.Role{2: model.RoleViewer}},
	} {
		if got := p.Roles(c.groups, all); !maps.Equal(got, c.want) {
			t.Errorf("%v mean %v, want %v", c.groups, got, c.want)
		}
	}
}

func TestClaimTypes(t *testing.T) {
	c := claims{}
	text := `{"one":"a","many":["a","b",7,null],"realm":{"roles":["r"]},"dotted.name":["d"],"n":1,"yes":true,"word":"true","no":"false"}`
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		"one": {"a"}, "many": {"a", "b"}, "realm.roles": {"r"}, "dotted.name": {"d"}, "n": nil, "nothing": nil, "realm": nil, "one.more": nil, "": nil,
	} {
		if got := c.list(name); !slices.Equal(got, want) {
			t.Errorf("%s holds %v, want %v", name, got, want)
		}
	}
	if !c.truth("yes") || !c.truth("word") || c.truth("no") || c.truth("nothing") || c.text("n") != "" {
		t.Error("truth and text are not read as they are meant")
	}
}

func FuzzUserName(f *testing.F) {
	for _, s := range []string{"Ada@Example.com", "…", "-x", "Ä Ö", "a\x00b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got := userName(s); got != "" && model.CheckUserName(got+"-100") != nil {
			t.Errorf("%q became %q", s, got)
		}
	})
}

// liar is a provider that signs any claims.
type liar struct {
	*httptest.Server
	token, info string // claims
}

func newLiar(t *testing.T) *liar {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	server := &oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: "k", Algorithm: oidc.RS256}}}
	l := &liar{}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/token":
			signed := oidctest.SignIDToken(key, "k", oidc.RS256, l.token)
			fmt.Fprintf(w, `{"access_token":"a","token_type":"Bearer","id_token":%q}`, signed)
		case "/userinfo":
			fmt.Fprint(w, l.info)
		case "/.well-known/openid-configuration":
			fmt.Fprintf(w, `{"issuer":%[1]q,"authorization_endpoint":"%[1]s/auth","token_endpoint":"%[1]s/token","userinfo_endpoint":"%[1]s/userinfo","jwks_uri":"%[1]s/keys","id_token_signing_alg_values_supported":["RS256"]}`, l.URL)
		default:
			server.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(l.Close)
	server.SetIssuer(l.URL)
	return l
}

func TestInvalidIDTokensAreRejected(t *testing.T) {
	l := newLiar(t)
	p := New(Config{Issuer: l.URL, ClientID: "redoubt", Title: "SSO", GroupsClaim: "groups", Clock: time.Now})
	_, flow, err := p.Start(t.Context(), "http://back.example/", false)
	if err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(time.Hour).Unix()
	claim := func(issuer, audience, nonce string, expires int64) string {
		return fmt.Sprintf(`{"iss":%q,"aud":%q,"sub":"s","nonce":%q,"exp":%d,"email":"Ada@Example.com"}`, issuer, audience, nonce, expires)
	}
	const info = `{"sub":"s","name":"Ada\u0007","groups":"sec"}`
	for _, c := range []struct {
		what, token, info, state string
		ok, personal             bool
	}{
		{"all well", claim(l.URL, "redoubt", flow.Nonce, later), info, flow.State, true, false},
		{"another state", claim(l.URL, "redoubt", flow.Nonce, later), info, "x", false, true},
		{"another nonce", claim(l.URL, "redoubt", "x", later), info, flow.State, false, true},
		{"no nonce", claim(l.URL, "redoubt", "", later), info, flow.State, false, true},
		{"for another client", claim(l.URL, "other", flow.Nonce, later), info, flow.State, false, false},
		{"of another issuer", claim("https://evil.example", "redoubt", flow.Nonce, later), info, flow.State, false, false},
		{"expired", claim(l.URL, "redoubt", flow.Nonce, 1), info, flow.State, false, false},
		{"about another user", claim(l.URL, "redoubt", flow.Nonce, later), `{"sub":"other","groups":["chiefs"]}`, flow.State, false, true},
	} {
		l.token, l.info = c.token, c.info
		who, err := p.Finish(t.Context(), "http://back.example/", flow, Back{State: c.state, Code: "x"})
		var refused *RefusedError
		if (err == nil) != c.ok || errors.As(err, &refused) != c.personal {
			t.Errorf("%s: %+v, %v", c.what, who, err)
		}
		if c.ok && (who.User.Name != "ada@example.com" || who.User.DisplayName != "" || !slices.Equal(who.Groups, []string{"sec"}) || who.Identity.Subject != "s") {
			t.Errorf("%s: %+v", c.what, who)
		}
	}
	if _, err := p.Finish(t.Context(), "", Flow{}, Back{Code: "x"}); err == nil {
		t.Error("who never left came back")
	}
}
