// Package auth authenticates API tokens, passwords, passkeys and sessions, and limits call rates.
// It declares the storage that it needs and contains no SQL or HTTP handlers. The route table
// defines the permissions of each operation.
package auth

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// ErrUnauthenticated is the common error for missing, unknown, expired and revoked tokens
// (docs/reference/errors.md).
var ErrUnauthenticated = errors.New("unauthenticated")

// Store provides the storage for authentication.
type Store interface {
	// Deployment returns a deployment by id or slug.
	Deployment(ctx context.Context, idOrSlug string) (model.Deployment, error)
	// TokenByHash returns a token by the hash of its secret.
	TokenByHash(ctx context.Context, deploymentID int64, hash []byte) (model.Token, error)
	// TouchTokens records when tokens were last used.
	TouchTokens(ctx context.Context, used []model.TokenUse) error
	// UserRole returns the role of a user in a deployment.
	UserRole(ctx context.Context, deploymentID, userID int64) (model.Role, error)
}

// Caller is the authenticated originator of a request.
type Caller struct {
	Token      model.Token
	Deployment model.Deployment
	Role       model.Role // of the user who created the token; none for tokens without a user
	Audience   string     // the resource of an OAuth access token; empty for other tokens
	// Person is the user of the web pages or the command line, if no token is used. It is zero for
	// tokens.
	Person model.Actor
	// SignedIn checks whether the person's session and permissions are still valid, because an
	// upload can take hours. It returns ErrUnauthenticated if not, and is nil for tokens.
	SignedIn func(context.Context) error
}

// ByPerson returns a caller for a user of the web pages. It has the permissions of a token of that
// user with Web API access.
func ByPerson(d model.Deployment, m model.Member, by model.Actor, signedIn func(context.Context) error) Caller {
	as := model.Token{DeploymentID: d.ID, UserID: m.ID, Scopes: []model.Scope{model.ScopeWebAPI}}
	return Caller{Token: as, Deployment: d, Role: m.Role, Person: by, SignedIn: signedIn}
}

// ByOperator returns a caller for the local command line. It has the permissions of a token without
// a user.
func ByOperator(d model.Deployment, by model.Actor) Caller {
	as := model.Token{DeploymentID: d.ID, Scopes: []model.Scope{model.ScopeWebAPI, model.ScopeCI}}
	return Caller{Token: as, Deployment: d, Role: model.RoleAdmin, Person: by}
}

// Actor returns the caller for audit events.
func (c Caller) Actor() model.Actor {
	if c.Person != (model.Actor{}) {
		return c.Person
	}
	return model.Actor{Kind: "token", ID: c.Token.PublicID, Name: c.Token.Name}
}

// Globs returns the project globs that restrict the caller.
func (c Caller) Globs() model.ProjectGlobs { return c.Token.ProjectGlobs }

// Is reports whether the id or slug is the caller's own deployment. Other deployments are
// indistinguishable from missing ones (docs/reference/addressing.md).
func (c Caller) Is(idOrSlug string) bool {
	return idOrSlug != "" && (idOrSlug == c.Deployment.Slug || idOrSlug == strconv.FormatInt(c.Deployment.ID, 10))
}

// CanUse reports whether the token has access to the Web API.
func (c Caller) CanUse() bool { return c.Token.Has(model.ScopeWebAPI) }

// CanUpload reports whether the token may upload scans and imports.
func (c Caller) CanUpload() bool {
	return c.Token.Has(model.ScopeCI) || c.Token.Has(model.ScopeWebAPI)
}

// CanRun reports whether the token may execute managed runs. This needs an explicit scope, because
// runs receive a repository's credential.
func (c Caller) CanRun() bool { return c.Token.Has(model.ScopeRunner) }

// CanWrite reports whether the token may change data (docs/reference/tokens.md). A user's token
// also requires the triager role.
func (c Caller) CanWrite() bool {
	return !c.Token.Has(model.ScopeReadOnly) && c.Has(model.RoleTriager)
}

// CanTriage reports whether the caller may triage findings. Tokens for uploads only may not.
func (c Caller) CanTriage() bool { return c.CanUse() && c.CanWrite() }

// Has reports whether the caller has at least the role. Tokens without a user are limited by their
// scopes only.
func (c Caller) Has(r model.Role) bool { return c.Token.UserID == 0 || c.Role >= r }

// Authenticator authenticates callers by token. It is safe for concurrent use.
type Authenticator struct {
	store Store
	clock func() time.Time
	known cache[Caller]
	used  lastUses[tokenKey, model.TokenUse]
}

type tokenKey struct{ deployment, token int64 }

// New returns an authenticator.
func New(store Store, clock func() time.Time) *Authenticator {
	return &Authenticator{store: store, clock: clock}
}

// Authenticate returns the caller with the secret, or ErrUnauthenticated. Other errors are those of
// the store.
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

// lookUp reads the caller from the store.
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

// Flush stores when tokens were last used.
func (a *Authenticator) Flush(ctx context.Context) error {
	return a.used.flush(func(used []model.TokenUse) error { return a.store.TouchTokens(ctx, used) })
}
