package model

import (
	"net/netip"
	"slices"
	"time"
)

// Scope is a permission of a token (docs/reference/tokens.md).
type Scope string

// Scopes of a token.
const (
	ScopeWebAPI   Scope = "web_api"   // the web API
	ScopeCI       Scope = "ci"        // scans and imports only
	ScopeReadOnly Scope = "read_only" // with web_api: no writes
	ScopeRunner   Scope = "runner"    // managed runs only
)

// Dialect is the format of responses to a token's bearer (docs/reference/response-formats.md).
type Dialect string

// Dialects.
const (
	DialectContract Dialect = "contract"
	DialectHosted   Dialect = "hosted"
)

// ParseDialect parses the name of a dialect.
func ParseDialect(s string) (d Dialect, ok bool) {
	d = Dialect(s)
	return d, d == DialectContract || d == DialectHosted
}

// Token is a credential for one deployment. Its secret is displayed once and stored as a hash
// (docs/reference/tokens.md).
type Token struct {
	ID           int64
	PublicID     string // ID in lists and logs
	DeploymentID int64
	UserID       int64 // user whose role limits the token; 0 if none
	Name         string
	Scopes       []Scope
	ProjectGlobs []string // empty for all projects
	Dialect      Dialect
	CreatedAt    time.Time
	ExpiresAt    time.Time // zero if it does not expire
	LastUsedAt   time.Time // zero if unused
	RevokedAt    time.Time // zero unless revoked

	// RenewableUntil is the time until which an OAuth client may renew the token, even after
	// expiry. It is zero if there is no such client. Only lists of tokens set it.
	RenewableUntil time.Time
}

// Has reports whether the token carries the scope.
func (t Token) Has(s Scope) bool {
	return slices.Contains(t.Scopes, s)
}

// Active reports whether the token is valid at the given time.
func (t Token) Active(now time.Time) bool {
	return t.RevokedAt.IsZero() && (t.ExpiresAt.IsZero() || now.Before(t.ExpiresAt))
}

// Ended reports whether the token is neither valid nor renewable at the given time.
func (t Token) Ended(now time.Time) bool {
	return !t.RevokedAt.IsZero() || !t.Active(now) && !now.Before(t.RenewableUntil)
}

// TokenUse is the last use of a token.
type TokenUse struct {
	DeploymentID int64
	TokenID      int64
	At           time.Time
}

// LoginFor is the lifetime of a login request. Scanners stop waiting after three minutes.
const LoginFor = 10 * time.Minute

// LoginRequest is a pending request for a token by a scanner (semgrep login) or a program (device
// flow, RFC 8628). The token is returned to any client with the key, so only a hash of the key is
// stored. Users identify the request by its code.
type LoginRequest struct {
	KeyHash      []byte
	Code         string
	DeploymentID int64 // 0 until decided
	Address      string
	Agent        string // name and version of the client
	RequestedAt  time.Time
	ExpiresAt    time.Time
	Token        Token // to be created when it is fetched; empty if there is none
	ApprovedBy   Actor // user who decided
	Program      LoginProgram
}

// LoginProgram contains the request of a program. It is empty for a scanner.
type LoginProgram struct {
	ClientHash []byte // SHA-256 of the OAuth client ID
	Name       string // name provided by the client
	Resource   string // resource of the token
	Write      bool   // requests write access
}

// ByProgram reports whether the request is from an OAuth client, not a scanner.
func (r LoginRequest) ByProgram() bool { return len(r.Program.ClientHash) > 0 }

// Approved reports whether the token can be fetched.
func (r LoginRequest) Approved() bool { return r.Token.DeploymentID != 0 }

// Denied reports whether the request was denied.
func (r LoginRequest) Denied() bool { return r.DeploymentID != 0 && !r.Approved() }

// Network returns the network of an address for counting callers. For IPv6 this is the /64, which
// is usually assigned to one customer. An invalid address is returned unchanged.
func Network(address string) string {
	at, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	if at = at.Unmap(); at.Is6() {
		return netip.PrefixFrom(at.WithZone(""), 64).Masked().String()
	}
	return at.String()
}

// WideNetwork returns the network around an address that a single owner may control: the /48 for
// IPv6, the /24 for IPv4. An invalid address is returned unchanged.
func WideNetwork(address string) string {
	at, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	at = at.Unmap().WithZone("")
	bits := 24
	if at.Is6() {
		bits = 48
	}
	return netip.PrefixFrom(at, bits).Masked().String()
}

// Lifetimes of OAuth codes and tokens (decision 0026).
const (
	OAuthCodeFor    = time.Minute
	OAuthAccessFor  = time.Hour
	OAuthRefreshFor = 30 * 24 * time.Hour
)

// OAuthGrant is the authorization of a client by a user: first a code, then a renewable token in
// its place. Each grant has one token, which users can list and revoke.
type OAuthGrant struct {
	DeploymentID int64
	CodeHash     []byte // SHA-256 of the code
	TokenID      int64  // 0 until the code was exchanged
	ClientHash   []byte // SHA-256 of the client ID
	RedirectURI  string // exactly as in the authorization request
	Challenge    string // S256 of the client's verifier
	Resource     string // resource of the token
	Generation   int64  // of the current refresh token, from 1; 0 if there is none
	RefreshHash  []byte // SHA-256 of the current refresh token
	ExpiresAt    time.Time
	Token        Token // to be created for the code
	ApprovedBy   Actor
}
