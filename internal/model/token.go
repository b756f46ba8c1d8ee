package model

import (
	"slices"
	"time"
)

// Scope is something that a token may do (semantics §12).
type Scope string

// Scopes of a token.
const (
	ScopeWebAPI   Scope = "web_api"   // the Web API
	ScopeCI       Scope = "ci"        // scans and imports only
	ScopeReadOnly Scope = "read_only" // with web_api: refuses writes
	ScopeRunner   Scope = "runner"    // takes managed runs, and nothing else
)

// Dialect is the shape of the answers that a token's bearer gets (semantics §13).
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
// as a hash (semantics §12).
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
