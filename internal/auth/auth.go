// Package auth answers who is calling: it makes and reads API tokens, finds the
// deployment and the scopes behind one, and bounds how often one may call. For
// people it checks passwords and keeps sessions.
//
// Its border: it knows the nouns and declares the storage it needs. HTTP ends
// before it (it is handed the bearer text) and SQL begins behind it. What an
// operation demands of a caller is the business of the route table.
package auth

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/redoubt/redoubt"
)

// CacheFor is how long an answer of the store is believed. A revocation is
// therefore seen within a second, on every server and after every command.
const CacheFor = time.Second

// cacheSize bounds the cache; beyond it, it starts anew.
const cacheSize = 4096

// ErrUnauthenticated means no, an unknown, an expired or a revoked token: one
// answer for all of them (semantics §3).
var ErrUnauthenticated = errors.New("unauthenticated")

// Store is the storage that authentication needs.
type Store interface {
	// Deployment finds a deployment by id or slug.
	Deployment(ctx context.Context, idOrSlug string) (redoubt.Deployment, error)
	// TokenByHash finds a token by the hash of its secret.
	TokenByHash(ctx context.Context, deploymentID int64, hash []byte) (redoubt.Token, error)
	// TouchTokens notes when tokens were last used.
	TouchTokens(ctx context.Context, used []redoubt.TokenUse) error
	// UserRole tells what a user may do in a deployment.
	UserRole(ctx context.Context, deploymentID, userID int64) (redoubt.Role, error)
}

// Caller is who makes a request.
type Caller struct {
	Token      redoubt.Token
	Deployment redoubt.Deployment
	Role       redoubt.Role // of the user who made the token; none where no user did
}

// Actor returns the caller as audit events name it.
func (c Caller) Actor() redoubt.Actor {
	return redoubt.Actor{Kind: "token", ID: c.Token.PublicID, Name: c.Token.Name}
}

// Globs returns what the caller may see of projects.
func (c Caller) Globs() redoubt.ProjectGlobs { return c.Token.ProjectGlobs }

// Is reports whether the id or slug names the caller's own deployment. All
// others, existing or not, are the same to it (semantics §1).
func (c Caller) Is(idOrSlug string) bool {
	return idOrSlug != "" && (idOrSlug == c.Deployment.Slug || idOrSlug == strconv.FormatInt(c.Deployment.ID, 10))
}

// CanUse reports whether the token opens the Web API.
func (c Caller) CanUse() bool { return c.Token.Has(redoubt.ScopeWebAPI) }

// CanUpload reports whether the token may hand in scans and imports.
func (c Caller) CanUpload() bool {
	return c.Token.Has(redoubt.ScopeCI) || c.Token.Has(redoubt.ScopeWebAPI)
}

// CanWrite reports whether the token may change anything (semantics §12). That
// of a user needs the role for it, too.
func (c Caller) CanWrite() bool {
	return !c.Token.Has(redoubt.ScopeReadOnly) && c.Has(redoubt.RoleTriager)
}

// Has reports whether the caller may do what the role may. A token that no user
// made is bounded by its scopes alone.
func (c Caller) Has(r redoubt.Role) bool { return c.Token.UserID == 0 || c.Role >= r }

// Authenticator finds callers. It is safe for concurrent use.
type Authenticator struct {
	store Store
	clock func() time.Time

	mu    sync.Mutex
	cache map[string]entry              // by hash
	used  map[tokenKey]redoubt.TokenUse // not yet written
}

type tokenKey struct{ deployment, token int64 }

// entry is one answer of the store; err is ErrUnauthenticated or nil.
type entry struct {
	caller Caller
	err    error
	until  time.Time
}

// New makes an authenticator.
func New(store Store, clock func() time.Time) *Authenticator {
	return &Authenticator{store: store, clock: clock, cache: map[string]entry{}, used: map[tokenKey]redoubt.TokenUse{}}
}

// Authenticate finds who presents the secret, or answers ErrUnauthenticated.
// Any other error is the store's.
func (a *Authenticator) Authenticate(ctx context.Context, secret string) (Caller, error) {
	deploymentID, sum, err := ParseSecret(secret)
	if err != nil {
		return Caller{}, ErrUnauthenticated
	}
	now := a.clock()
	found, ok := a.cached(string(sum), now)
	if !ok {
		if found, err = a.look(ctx, deploymentID, sum, now); err != nil {
			return Caller{}, err
		}
	}
	if found.err != nil || !found.caller.Token.Active(now) {
		return Caller{}, ErrUnauthenticated
	}
	a.touch(found.caller.Token, now)
	return found.caller, nil
}

func (a *Authenticator) cached(key string, now time.Time) (entry, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e, ok := a.cache[key]
	return e, ok && now.Before(e.until)
}

// look asks the store, and remembers what it answers.
func (a *Authenticator) look(ctx context.Context, deploymentID int64, sum []byte, now time.Time) (entry, error) {
	e := entry{until: now.Add(CacheFor)}
	var err error
	e.caller.Token, err = a.store.TokenByHash(ctx, deploymentID, sum)
	if err == nil {
		e.caller.Deployment, err = a.store.Deployment(ctx, strconv.FormatInt(deploymentID, 10))
	}
	if err == nil && e.caller.Token.UserID != 0 {
		e.caller.Role, err = a.store.UserRole(ctx, deploymentID, e.caller.Token.UserID)
	}
	switch {
	case errors.Is(err, redoubt.ErrNotFound), err == nil && !e.caller.Has(redoubt.RoleViewer):
		e.err = ErrUnauthenticated
	case err != nil:
		return entry{}, fmt.Errorf("look up the token: %w", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.cache) >= cacheSize {
		clear(a.cache)
	}
	a.cache[string(sum)] = e
	return e, nil
}

func (a *Authenticator) touch(t redoubt.Token, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used[tokenKey{t.DeploymentID, t.ID}] = redoubt.TokenUse{DeploymentID: t.DeploymentID, TokenID: t.ID, At: now}
}

// Flush writes when tokens were last used: one statement for many requests.
// What could not be written is kept for the next time.
func (a *Authenticator) Flush(ctx context.Context) error {
	a.mu.Lock()
	used := a.used
	a.used = map[tokenKey]redoubt.TokenUse{}
	a.mu.Unlock()
	if len(used) == 0 {
		return nil
	}
	list := make([]redoubt.TokenUse, 0, len(used))
	for _, use := range used {
		list = append(list, use)
	}
	err := a.store.TouchTokens(ctx, list)
	if err == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, use := range used {
		if _, newer := a.used[key]; !newer {
			a.used[key] = use
		}
	}
	return fmt.Errorf("note when tokens were used: %w", err)
}
