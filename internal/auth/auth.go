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
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// ErrUnauthenticated means no, an unknown, an expired or a revoked token: one
// answer for all of them (docs/reference/errors.md).
var ErrUnauthenticated = errors.New("unauthenticated")

// Store is the storage that authentication needs.
type Store interface {
	// Deployment finds a deployment by id or slug.
	Deployment(ctx context.Context, idOrSlug string) (model.Deployment, error)
	// TokenByHash finds a token by the hash of its secret.
	TokenByHash(ctx context.Context, deploymentID int64, hash []byte) (model.Token, error)
	// TouchTokens notes when tokens were last used.
	TouchTokens(ctx context.Context, used []model.TokenUse) error
	// UserRole tells what a user may do in a deployment.
	UserRole(ctx context.Context, deploymentID, userID int64) (model.Role, error)
}

// Caller is who makes a request.
type Caller struct {
	Token      model.Token
	Deployment model.Deployment
	Role       model.Role // of the user who made the token; none where no user did
	Audience   string     // the resource that an OAuth access token is for; empty for other tokens
	// Person acts at the pages or at the command line, without a token; zero where a token does.
	Person model.Actor
	// SignedIn tells whether the person still is, and may what they might: an upload can
	// take hours to come. It answers ErrUnauthenticated, and is nil where a token acts.
	SignedIn func(context.Context) error
}

// ByPerson is a person at the pages as a caller: they may what a token with Web API access
// may that they make.
func ByPerson(d model.Deployment, m model.Member, by model.Actor, signedIn func(context.Context) error) Caller {
	as := model.Token{DeploymentID: d.ID, UserID: m.ID, Scopes: []model.Scope{model.ScopeWebAPI}}
	return Caller{Token: as, Deployment: d, Role: m.Role, Person: by, SignedIn: signedIn}
}

// ByOperator is a caller who runs the program beside the database: it may do all that a
// token without a user may.
func ByOperator(d model.Deployment, by model.Actor) Caller {
	as := model.Token{DeploymentID: d.ID, Scopes: []model.Scope{model.ScopeWebAPI, model.ScopeCI}}
	return Caller{Token: as, Deployment: d, Role: model.RoleAdmin, Person: by}
}

// Actor returns the caller as audit events name it.
func (c Caller) Actor() model.Actor {
	if c.Person != (model.Actor{}) {
		return c.Person
	}
	return model.Actor{Kind: "token", ID: c.Token.PublicID, Name: c.Token.Name}
}

// Globs returns what the caller may see of projects.
func (c Caller) Globs() model.ProjectGlobs { return c.Token.ProjectGlobs }

// Is reports whether the id or slug names the caller's own deployment. All
// others, existing or not, are the same to it (docs/reference/addressing.md).
func (c Caller) Is(idOrSlug string) bool {
	return idOrSlug != "" && (idOrSlug == c.Deployment.Slug || idOrSlug == strconv.FormatInt(c.Deployment.ID, 10))
}

// CanUse reports whether the token opens the Web API.
func (c Caller) CanUse() bool { return c.Token.Has(model.ScopeWebAPI) }

// CanUpload reports whether the token may hand in scans and imports.
func (c Caller) CanUpload() bool {
	return c.Token.Has(model.ScopeCI) || c.Token.Has(model.ScopeWebAPI)
}

// CanRun reports whether the token may take managed runs: that is asked for by name, for
// who takes one is given a repository's credential.
func (c Caller) CanRun() bool { return c.Token.Has(model.ScopeRunner) }

// CanWrite reports whether the token may change anything (docs/reference/tokens.md). That
// of a user needs the role for it, too.
func (c Caller) CanWrite() bool {
	return !c.Token.Has(model.ScopeReadOnly) && c.Has(model.RoleTriager)
}

// CanTriage reports whether the caller may decide about findings: one that hands in
// scans alone may not.
func (c Caller) CanTriage() bool { return c.CanUse() && c.CanWrite() }

// Has reports whether the caller may do what the role may. A token that no user
// made is bounded by its scopes alone.
func (c Caller) Has(r model.Role) bool { return c.Token.UserID == 0 || c.Role >= r }

// Authenticator finds callers. It is safe for concurrent use.
type Authenticator struct {
	store Store
	clock func() time.Time
	known cache[Caller]
	used  lastUses[tokenKey, model.TokenUse]
}

type tokenKey struct{ deployment, token int64 }

// New makes an authenticator.
func New(store Store, clock func() time.Time) *Authenticator {
	return &Authenticator{store: store, clock: clock}
}

// Authenticate finds who presents the secret, or answers ErrUnauthenticated.
// Any other error is the store's.
func (a *Authenticator) Authenticate(ctx context.Context, secret string) (Caller, error) {
	deploymentID, sum, err := ParseSecret(secret)
	if err != nil {
		return Caller{}, ErrUnauthenticated
	}
	now := a.clock()
	found, ok := a.known.get(sum, now)
	if !ok {
		if found, err = a.lookUp(ctx, deploymentID, sum); err != nil {
			return Caller{}, err
		}
		found.Audience = audienceOf(secret)
		a.known.put(sum, found, now)
	}
	if !found.Token.Active(now) || !found.Has(model.RoleViewer) {
		return Caller{}, ErrUnauthenticated
	}
	a.used.note(tokenKey{found.Token.DeploymentID, found.Token.ID}, model.TokenUse{
		DeploymentID: found.Token.DeploymentID, TokenID: found.Token.ID, At: now,
	})
	return found, nil
}

// lookUp asks the store.
func (a *Authenticator) lookUp(ctx context.Context, deploymentID int64, sum []byte) (c Caller, err error) {
	c.Token, err = a.store.TokenByHash(ctx, deploymentID, sum)
	if err == nil {
		c.Deployment, err = a.store.Deployment(ctx, strconv.FormatInt(deploymentID, 10))
	}
	if err == nil && c.Token.UserID != 0 {
		c.Role, err = a.store.UserRole(ctx, deploymentID, c.Token.UserID)
	}
	switch {
	case errors.Is(err, model.ErrNotFound):
		err = ErrUnauthenticated
	case err != nil:
		err = fmt.Errorf("look up the token: %w", err)
	}
	return c, err
}

// Flush writes when tokens were last used.
func (a *Authenticator) Flush(ctx context.Context) error {
	return a.used.flush(func(used []model.TokenUse) error { return a.store.TouchTokens(ctx, used) })
}
