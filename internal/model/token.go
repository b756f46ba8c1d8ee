package model

import (
	"net/netip"
	"slices"
	"time"
)

// Scope is something that a token may do (docs/reference/tokens.md).
type Scope string

// Scopes of a token.
const (
	ScopeWebAPI   Scope = "web_api"   // the Web API
	ScopeCI       Scope = "ci"        // scans and imports only
	ScopeReadOnly Scope = "read_only" // with web_api: refuses writes
	ScopeRunner   Scope = "runner"    // takes managed runs, and nothing else
)

// Dialect is the shape of the answers that a token's bearer gets (docs/reference/response-formats.md).
type Dialect string

// Dialects.
const (
	DialectContract Dialect = "contract"
	DialectHosted   Dialect = "hosted"
)

// ParseDialect reads the name of a dialect.
func ParseDialect(s string) (d Dialect, ok bool) {
	d = Dialect(s)
	return d, d == DialectContract || d == DialectHosted
}

// Token is a credential of one deployment. Its secret is shown once and kept
// as a hash (docs/reference/tokens.md).
type Token struct {
	ID           int64
	PublicID     string // names the token in lists and logs
	DeploymentID int64
	UserID       int64 // whose role bounds it; 0 of one that no user made
	Name         string
	Scopes       []Scope
	ProjectGlobs []string // empty: every project
	Dialect      Dialect
	CreatedAt    time.Time
	ExpiresAt    time.Time // zero: never
	LastUsedAt   time.Time // zero: not yet
	RevokedAt    time.Time // zero: in force

	// RenewableUntil is until when an OAuth client may have it renewed, whether it has
	// expired or not; zero where none may. Lists of tokens tell it, nothing else does.
	RenewableUntil time.Time
}

// Has reports whether the token carries the scope.
func (t Token) Has(s Scope) bool {
	return slices.Contains(t.Scopes, s)
}

// Active reports whether the token is in force at the given time.
func (t Token) Active(now time.Time) bool {
	return t.RevokedAt.IsZero() && (t.ExpiresAt.IsZero() || now.Before(t.ExpiresAt))
}

// Ended reports whether nothing of the token works any more: neither is it in force
// at the given time, nor can a client have it renewed.
func (t Token) Ended(now time.Time) bool {
	return !t.RevokedAt.IsZero() || !t.Active(now) && !now.Before(t.RenewableUntil)
}

// TokenUse says when a token was last presented.
type TokenUse struct {
	DeploymentID int64
	TokenID      int64
	At           time.Time
}

// LoginFor is how long who asks for a token may wait for somebody to decide. A scanner
// gives up itself after three minutes.
const LoginFor = 10 * time.Minute

// LoginRequest is somebody who waits for a token until a person decides: a scanner, as
// semgrep login does, or a program by the device flow (RFC 8628). Who knows the key that
// it asks with gets the token, so only a hash of that is kept; people name the request by
// its code.
type LoginRequest struct {
	KeyHash      []byte
	Code         string
	DeploymentID int64 // 0 until somebody decides
	Address      string
	Agent        string // the client's own name and version
	AskedAt      time.Time
	ExpiresAt    time.Time
	Token        Token // to be made when it is fetched; empty where there is none to fetch
	ApprovedBy   Actor // who decided
	Program      LoginProgram
}

// LoginProgram is what a program asked for; empty for a scanner.
type LoginProgram struct {
	ClientHash []byte // SHA-256 of the id of the OAuth client
	Name       string // what it calls itself
	Resource   string // what the token is for
	Write      bool   // it asks to change things
}

// ByProgram reports whether an OAuth client waits, and no scanner.
func (r LoginRequest) ByProgram() bool { return len(r.Program.ClientHash) > 0 }

// Approved reports whether the token may be fetched.
func (r LoginRequest) Approved() bool { return r.Token.DeploymentID != 0 }

// Denied reports whether somebody decided that there is no token.
func (r LoginRequest) Denied() bool { return r.DeploymentID != 0 && !r.Approved() }

// Network is whose an address is taken to be where callers are counted: one
// customer gets a whole /64 of IPv6. What is no address is its own network.
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

// WideNetwork is the network around an address that one owner may well have all of:
// the /48 of IPv6, the /24 of IPv4. What is no address is its own network.
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

// How long what OAuth clients are given is good for (decision 0026).
const (
	OAuthCodeFor    = time.Minute
	OAuthAccessFor  = time.Hour
	OAuthRefreshFor = 30 * 24 * time.Hour
)

// OAuthGrant is what a person let a client have: first a code, then, in its place, a
// token that the client can have renewed. There is one row of token for it as long
// as it lasts, which people see and revoke among their tokens.
type OAuthGrant struct {
	DeploymentID int64
	CodeHash     []byte // SHA-256 of the code
	TokenID      int64  // 0 until the code was exchanged
	ClientHash   []byte // SHA-256 of the client's id
	RedirectURI  string // as the client asked for the code, to the letter
	Challenge    string // S256 of the client's verifier
	Resource     string // what the token is for
	Generation   int64  // of the refresh token in force, from 1; 0 before there is one
	RefreshHash  []byte // SHA-256 of it
	ExpiresAt    time.Time
	Token        Token // to be made for the code
	ApprovedBy   Actor
}
