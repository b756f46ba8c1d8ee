// Package sso signs people in at an OpenID Connect provider: it sends them
// there, and reads who came back, with which groups.
//
// Its border: it knows the provider's protocol and the nouns. Where a browser is
// sent, and what it remembers meanwhile, is the pages' business; which user
// somebody is, the store's.
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

// Config is a provider, and what its groups mean here.
type Config struct {
	Issuer       string // URL of the provider
	ClientID     string
	ClientSecret string
	Title        string   // what people call it
	Scopes       []string // asked for, "openid" besides
	GroupsClaim  string   // which claim holds the groups
	Rules        []Rule
	Domains      []string // of verified addresses that are let in; empty: all
	Clock        func() time.Time
}

// patience bounds each conversation with the provider.
const patience = 15 * time.Second

// Provider signs people in elsewhere. It is safe for concurrent use.
type Provider struct {
	Config
	mu    sync.Mutex
	found *oidc.Provider // once it has answered
}

// New makes a provider. It asks nothing of it before the first sign-in, so a
// start never waits for it.
func New(c Config) *Provider { return &Provider{Config: c} }

// Flow is what a browser remembers between leaving and coming back.
type Flow struct {
	State    string `json:"s"` // comes back in the address
	Nonce    string `json:"n"` // comes back in the signed token
	Verifier string `json:"v"` // proves that who left is who came back (PKCE)
}

// Person is who came back.
type Person struct {
	Identity model.UserIdentity
	User     model.User // name and display name for a new user
	Groups   []string
	// AskedAt is when the provider last asked who they are, by a password or the
	// like; zero where it does not say.
	AskedAt time.Time
}

// RefusedError means that somebody came back who is not let in. Its text is for
// that person.
type RefusedError struct {
	User   string // here; empty where there is none yet
	As     string // what the provider calls them; empty where it did not say
	Reason string
}

// Error says why.
func (e *RefusedError) Error() string { return e.Reason }

func refuse(as, format string, args ...any) error {
	return &RefusedError{As: as, Reason: fmt.Sprintf(format, args...)}
}

// discover finds the provider's addresses and keys, and remembers them.
func (p *Provider) discover(ctx context.Context) (*oidc.Provider, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found != nil {
		return p.found, nil
	}
	found, err := oidc.NewProvider(ctx, p.Issuer)
	if err != nil {
		return nil, fmt.Errorf("%w: the provider %s does not answer as one: %w", model.ErrUnavailable, p.Issuer, err)
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

// Start returns where to send a browser, and what it has to remember. back is
// the address that it comes back to.
func (p *Provider) Start(ctx context.Context, back string, again bool) (address string, f Flow, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	found, err := p.discover(ctx)
	if err != nil {
		return "", f, err
	}
	f = Flow{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier()}
	options := []oauth2.AuthCodeOption{oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)}
	if again { // with an age the provider has to say when it asked, which is checked
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"), oauth2.SetAuthURLParam("max_age", "0"))
	}
	return p.client(found, back).AuthCodeURL(f.State, options...), f, nil
}

// Back is what the address holds that a browser came back with.
type Back struct {
	State, Code        string
	Fault, Description string // of the provider, instead of a code
}

// Finish reads who came back. Who is not let in is a RefusedError; a provider
// that does not answer is model.ErrUnavailable.
func (p *Provider) Finish(ctx context.Context, back string, f Flow, b Back) (Person, error) {
	if f.State == "" || subtle.ConstantTimeCompare([]byte(f.State), []byte(b.State)) == 0 {
		return Person{}, refuse("", "This sign-in took too long, or began in another browser. Try again.")
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
		return Person{}, refuse("", "%s knows nothing of this sign-in any more. Try again.", p.Title)
	case err != nil:
		return Person{}, fmt.Errorf("%w: the provider %s gave no token: %w", model.ErrUnavailable, p.Issuer, err)
	}
	return p.person(ctx, found, token, f.Nonce)
}

// person reads the signed token, and what the provider says besides.
func (p *Provider) person(
	ctx context.Context, found *oidc.Provider, token *oauth2.Token, nonce string,
) (Person, error) {
	raw, _ := token.Extra("id_token").(string)
	signed, err := found.VerifierContext(ctx, &oidc.Config{ClientID: p.ClientID, Now: p.Clock}).Verify(ctx, raw)
	if err != nil {
		return Person{}, fmt.Errorf("the provider %s sent a token that does not hold: %w", p.Issuer, err)
	}
	if subtle.ConstantTimeCompare([]byte(signed.Nonce), []byte(nonce)) == 0 {
		return Person{}, refuse("", "What %s sent is of another sign-in. Try again.", p.Title)
	}
	c := claims{}
	if err := signed.Claims(&c); err != nil {
		return Person{}, fmt.Errorf("the provider %s sent claims that cannot be read: %w", p.Issuer, err)
	}
	asked, _ := c["auth_time"].(float64) // of the signed token, not of what follows
	// Many providers keep names, addresses and groups out of the token.
	if found.UserInfoEndpoint() != "" {
		info, err := found.UserInfo(ctx, oauth2.StaticTokenSource(token))
		if err != nil {
			return Person{}, fmt.Errorf("%w: the provider %s does not say who you are: %w", model.ErrUnavailable, p.Issuer, err)
		}
		if info.Subject != signed.Subject {
			return Person{}, refuse("", "What %s says of you is about somebody else. Try again.", p.Title)
		}
		if err := info.Claims(&c); err != nil {
			return Person{}, fmt.Errorf("the provider %s sent claims that cannot be read: %w", p.Issuer, err)
		}
	}
	who, err := p.admit(model.UserIdentity{Issuer: signed.Issuer, Subject: signed.Subject}, c)
	if asked > 0 {
		who.AskedAt = time.Unix(int64(asked), 0)
	}
	return who, err
}

// admit checks that somebody may come in at all.
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
		return who, refuse(who.User.Name, "Only people with a confirmed address of %s are let in; %s says yours is %q.",
			strings.Join(p.Domains, ", "), p.Title, email)
	}
	return who, nil
}
