// Package sso authenticates users at an OpenID Connect provider and returns their identity and
// groups. It implements the protocol only. Callers redirect browsers, store the flow and map
// identities to users.
package sso

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/redoubt/redoubt/internal/model"
)

// Config contains the settings of a provider and the rules for its groups.
type Config struct {
	Issuer       string // URL of the provider
	ClientID     string
	ClientSecret string
	Title        string   // display name
	Scopes       []string // requested in addition to "openid"
	GroupsClaim  string   // name of the claim with the groups
	Rules        []Rule
	Domains      []string // allowed domains of verified email addresses; empty for all
	Clock        func() time.Time
}

// patience limits the duration of requests to the provider.
const patience = 15 * time.Second

// Provider authenticates users at a provider. It is safe for concurrent use.
type Provider struct {
	Config
	mu    sync.Mutex
	found *oidc.Provider // set after the first successful discovery
}

// New returns a provider. It sends no request before the first sign-in, so that startup does not
// depend on the provider.
func New(c Config) *Provider { return &Provider{Config: c} }

// Flow is the state that a browser stores during a sign-in.
type Flow struct {
	State    string `json:"s"` // returned in the query
	Nonce    string `json:"n"` // returned in the signed token
	Verifier string `json:"v"` // proves that the same browser returned (PKCE)
}

// Person is an authenticated user.
type Person struct {
	Identity model.UserIdentity
	User     model.User // name and display name for a new user
	Groups   []string
	// AuthenticatedAt is the time of the user's last authentication at the provider. It is zero if
	// unknown.
	AuthenticatedAt time.Time
}

// RefusedError means that an authenticated user has no access. Its text is shown to the user.
type RefusedError struct {
	User   string // local name; empty if there is no user
	As     string // name at the provider; empty if unknown
	Reason string
}

// Error returns the reason.
func (e *RefusedError) Error() string { return e.Reason }

func refuse(as, format string, args ...any) error {
	return &RefusedError{As: as, Reason: fmt.Sprintf(format, args...)}
}

// discover reads the provider's endpoints and keys, and caches them.
func (p *Provider) discover(ctx context.Context) (*oidc.Provider, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found != nil {
		return p.found, nil
	}
	found, err := oidc.NewProvider(ctx, p.Issuer)
	if err != nil {
		return nil, fmt.Errorf("%w: the provider %s did not return its configuration: %w",
			model.ErrUnavailable, p.Issuer, err)
	}
	p.found = found
	return found, nil
}

func (p *Provider) client(found *oidc.Provider, back string) *oauth2.Config {
	return &oauth2.Config{
		ClientID: p.ClientID, ClientSecret: p.ClientSecret, Endpoint: found.Endpoint(), RedirectURL: back,
		Scopes: append([]string{oidc.ScopeOpenID}, p.Scopes...),
	}
}

// Start returns the address to redirect a browser to, and the flow that it must store. The browser
// returns to the address back. With reauthenticate, the provider must authenticate the user again.
func (p *Provider) Start(ctx context.Context, back string, reauthenticate bool) (address string, f Flow, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	found, err := p.discover(ctx)
	if err != nil {
		return "", f, err
	}
	f = Flow{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier()}
	options := []oauth2.AuthCodeOption{oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)}
	if reauthenticate { // max_age makes the provider return the authentication time, which is checked
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"), oauth2.SetAuthURLParam("max_age", "0"))
	}
	return p.client(found, back).AuthCodeURL(f.State, options...), f, nil
}

// Back contains the query parameters of a returning browser.
type Back struct {
	State, Code        string
	Fault, Description string // error of the provider, instead of a code
}

// Finish returns the authenticated user. It returns a RefusedError for users without access, and
// model.ErrUnavailable if the provider does not respond.
func (p *Provider) Finish(ctx context.Context, back string, f Flow, b Back) (Person, error) {
	if f.State == "" || subtle.ConstantTimeCompare([]byte(f.State), []byte(b.State)) == 0 {
		return Person{}, refuse("", "This sign-in expired, or started in another browser. Try again.")
	}
	if b.Fault != "" || b.Code == "" {
		return Person{}, refuse("", "%s did not sign you in: %.200s", p.Title, strings.TrimSpace(b.Fault+" "+b.Description))
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	found, err := p.discover(ctx)
	if err != nil {
		return Person{}, err
	}
	token, err := p.client(found, back).Exchange(ctx, b.Code, oauth2.VerifierOption(f.Verifier))
	var answer *oauth2.RetrieveError
	switch {
	case errors.As(err, &answer) && answer.ErrorCode == "invalid_grant":
		return Person{}, refuse("", "%s no longer recognizes this sign-in. Try again.", p.Title)
	case err != nil:
		return Person{}, fmt.Errorf("%w: the provider %s returned no token: %w", model.ErrUnavailable, p.Issuer, err)
	}
	return p.person(ctx, found, token, f.Nonce)
}

// person verifies the signed token and reads the provider's user information.
func (p *Provider) person(
	ctx context.Context, found *oidc.Provider, token *oauth2.Token, nonce string,
) (Person, error) {
	raw, _ := token.Extra("id_token").(string)
	signed, err := found.VerifierContext(ctx, &oidc.Config{ClientID: p.ClientID, Now: p.Clock}).Verify(ctx, raw)
	if err != nil {
		return Person{}, fmt.Errorf("the provider %s sent an invalid token: %w", p.Issuer, err)
	}
	if subtle.ConstantTimeCompare([]byte(signed.Nonce), []byte(nonce)) == 0 {
		return Person{}, refuse("", "The response of %s belongs to another sign-in. Try again.", p.Title)
	}
	c := claims{}
	if err := signed.Claims(&c); err != nil {
		return Person{}, fmt.Errorf("the provider %s sent claims that cannot be read: %w", p.Issuer, err)
	}
	authTime, _ := c["auth_time"].(float64) // of the signed token, not of the user information
	// Many providers omit names, addresses and groups from the token.
	if found.UserInfoEndpoint() != "" {
		info, err := found.UserInfo(ctx, oauth2.StaticTokenSource(token))
		if err != nil {
			return Person{}, fmt.Errorf("%w: the provider %s returned no user information: %w",
				model.ErrUnavailable, p.Issuer, err)
		}
		if info.Subject != signed.Subject {
			return Person{}, refuse("", "The user information of %s belongs to another user. Try again.", p.Title)
		}
		if err := info.Claims(&c); err != nil {
			return Person{}, fmt.Errorf("the provider %s sent claims that cannot be read: %w", p.Issuer, err)
		}
	}
	who, err := p.admit(model.UserIdentity{Issuer: signed.Issuer, Subject: signed.Subject}, c)
	if authTime > 0 {
		who.AuthenticatedAt = time.Unix(int64(authTime), 0)
	}
	return who, err
}

// admit checks whether the user may sign in.
func (p *Provider) admit(id model.UserIdentity, c claims) (Person, error) {
	email := strings.ToLower(c.text("email"))
	who := Person{Identity: id, Groups: c.list(p.GroupsClaim)}
	for _, name := range []string{c.text("preferred_username"), email, id.Subject} {
		if who.User.Name = userName(name); who.User.Name != "" {
			break
		}
	}
	if title := c.text("name"); model.CheckDisplayName(title) == nil {
		who.User.DisplayName = title
	}
	if len(p.Domains) == 0 {
		return who, nil
	}
	_, domain, _ := strings.Cut(email, "@")
	if !c.truth("email_verified") ||
		!slices.ContainsFunc(p.Domains, func(d string) bool { return strings.EqualFold(d, domain) }) {
		return who, refuse(who.User.Name, "Only users with a verified address at %s can sign in. %s sent the address %q.",
			strings.Join(p.Domains, ", "), p.Title, email)
	}
	return who, nil
}
