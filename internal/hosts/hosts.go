// Package hosts puts connections to work: it makes and checks them, follows their
// repositories and change requests, tells change requests what scans found, and creates
// tickets.
//
// Its border: between the store and the code hosts (package scm). It asks a host and
// writes what came of it, never both in one transaction: no host holds up a deployment.
package hosts

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
)

// Opener opens the host of a connection; scm.Config does.
type Opener interface {
	Open(c redoubt.Connection, credential redoubt.HostCredential) (scm.Host, error)
}

// Config is what a keeper is made of.
type Config struct {
	Store     *store.Store
	Vault     *scm.Vault
	Hosts     Opener
	Clock     func() time.Time
	Logger    *slog.Logger
	PublicURL func() string // how others reach the server, without a slash at its end
	// Proposed is told, in the transaction that keeps it, of a change request that is
	// new or has another head; Pushed of a branch that has another. Either may be nil.
	Proposed func(ctx context.Context, tx *store.Tx, r redoubt.Repository, c redoubt.ChangeRequest) error
	Pushed   func(ctx context.Context, tx *store.Tx, r redoubt.Repository, branch, commit string) error
	// Heard is told that there is a webhook to work off. It may be nil.
	Heard func()
}

// Keeper keeps the connections of all deployments. It is safe for concurrent use.
type Keeper struct{ Config }

// New makes a keeper, which asks nobody by itself: run Background beside it.
func New(c Config) *Keeper { return &Keeper{c} }

// host opens the host of a connection.
func (k *Keeper) host(deploymentID int64, c redoubt.Connection) (scm.Host, error) {
	credential, err := k.Vault.Open(deploymentID, c)
	if err != nil {
		return nil, err
	}
	return k.Hosts.Open(c, credential)
}

// seen is what a host says when it is asked who the connection is.
type seen struct {
	account      scm.Account
	repositories []redoubt.Repository
}

func look(ctx context.Context, h scm.Host) (s seen, err error) {
	if s.account, err = h.Who(ctx); err != nil {
		return s, err
	}
	return s, h.Repositories(ctx, func(part []redoubt.Repository) error {
		s.repositories = append(s.repositories, part...)
		return nil
	})
}

// Add makes a connection, once the host has said who it is there and what it sees. What
// will not do is a redoubt.InvalidError.
func (k *Keeper) Add(ctx context.Context, deploymentID int64, by redoubt.Actor, c redoubt.Connection, credential redoubt.HostCredential) (redoubt.Connection, error) {
	if err := redoubt.CheckConnection(c); err != nil {
		return c, err
	}
	if c.Kind.HasAPI() || credential != (redoubt.HostCredential{}) { // a public remote needs none
		if err := redoubt.CheckCredential(c.Kind, credential); err != nil {
			return c, err
		}
	}
	h, err := k.Hosts.Open(c, credential)
	if err != nil {
		return c, err
	}
	found, err := look(ctx, h)
	if err != nil {
		return c, redoubt.Invalid("base_url", "%s", err.Error())
	}
	c.Account, c.CheckedAt = found.account.Login, k.Clock()
	err = k.Store.Update(ctx, deploymentID, by, func(ctx context.Context, tx *store.Tx) error {
		c, err = tx.AddConnection(ctx, c, func(id int64) (s store.Sealed, err error) {
			if credential != (redoubt.HostCredential{}) {
				s.Credential, err = k.Vault.Seal(deploymentID, id, credential)
			}
			s.WebhookSecret = k.Vault.SealWebhook(deploymentID, id, rand.Text())
			return s, err
		})
		if err != nil {
			return err
		}
		return k.keep(ctx, tx, c, found.repositories)
	})
	return c, err
}

// keep writes what a host has, and takes what the connection follows.
func (k *Keeper) keep(ctx context.Context, tx *store.Tx, c redoubt.Connection, list []redoubt.Repository) error {
	now, err := tx.SaveRepositories(ctx, c.ID, list, true)
	if err != nil {
		return err
	}
	_, err = take(ctx, tx, now, c.Follow)
	return err
}

// take makes projects of the repositories that globs fit, and that can be scanned. One
// whose project is another repository is left out.
func take(ctx context.Context, tx *store.Tx, list []redoubt.Repository, globs []string) (taken []redoubt.Project, err error) {
	if len(globs) == 0 {
		return nil, nil
	}
	for _, r := range list {
		if r.ProjectID != 0 || !r.Scannable() || !redoubt.ProjectGlobs(globs).Allows(r.FullName) {
			continue
		}
		p, err := tx.TakeRepository(ctx, r.ID)
		if errors.Is(err, redoubt.ErrConflict) {
			continue
		}
		if err != nil {
			return taken, err
		}
		taken = append(taken, p)
	}
	return taken, nil
}

// connection reads one.
func (k *Keeper) connection(ctx context.Context, deploymentID, id int64) (c redoubt.Connection, err error) {
	err = k.Store.View(ctx, deploymentID, func(ctx context.Context, tx *store.Tx) error {
		c, err = tx.Connection(ctx, id)
		return err
	})
	return c, err
}

// Check asks a host again who the connection is and what it sees, and keeps the answer:
// what went wrong is kept as the connection's problem, and returned.
func (k *Keeper) Check(ctx context.Context, deploymentID int64, by redoubt.Actor, id int64) (redoubt.Connection, error) {
	c, err := k.connection(ctx, deploymentID, id)
	if err != nil {
		return c, err
	}
	h, asked := k.host(deploymentID, c)
	var found seen
	if asked == nil {
		found, asked = look(ctx, h)
	}
	if ctx.Err() != nil {
		return c, ctx.Err()
	}
	err = k.Store.Update(ctx, deploymentID, by, func(ctx context.Context, tx *store.Tx) error {
		problem := ""
		if asked != nil {
			problem = asked.Error()
		}
		if err := tx.NoteConnectionCheck(ctx, id, found.account.Login, problem); err != nil {
			return err
		}
		if asked == nil {
			if err := k.keep(ctx, tx, c, found.repositories); err != nil {
				return err
			}
		}
		c, err = tx.Connection(ctx, id)
		return err
	})
	return c, errors.Join(asked, err)
}

// Take makes projects of repositories that a connection sees, by globs of their names.
// None that fits is redoubt.ErrNotFound.
func (k *Keeper) Take(ctx context.Context, deploymentID int64, by redoubt.Actor, id int64, globs []string) (taken []redoubt.Project, err error) {
	err = k.Store.Update(ctx, deploymentID, by, func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.Connection(ctx, id); err != nil {
			return err
		}
		list, err := tx.Repositories(ctx, id)
		if err != nil {
			return err
		}
		fits := func(r redoubt.Repository) bool { return redoubt.ProjectGlobs(globs).Allows(r.FullName) }
		if len(globs) == 0 || !slices.ContainsFunc(list, fits) {
			return fmt.Errorf("the connection sees no repository %q: %w", globs, redoubt.ErrNotFound)
		}
		taken, err = take(ctx, tx, list, globs)
		return err
	})
	return taken, err
}

// Remove forgets a connection. The host is asked to forget our webhooks first; where it
// cannot be, they are refused from then on.
func (k *Keeper) Remove(ctx context.Context, deploymentID int64, by redoubt.Actor, id int64) error {
	c, err := k.connection(ctx, deploymentID, id)
	if err != nil {
		return err
	}
	if h, err := k.host(deploymentID, c); err == nil {
		if err := k.unhook(ctx, deploymentID, c, h); err != nil {
			k.Logger.WarnContext(ctx, "webhooks stay at the host", "connection", c.Name, "cause", err)
		}
	}
	return k.Store.Update(ctx, deploymentID, by, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteConnection(ctx, id) })
}

func (k *Keeper) unhook(ctx context.Context, deploymentID int64, c redoubt.Connection, h scm.Host) error {
	var list []redoubt.Repository
	err := k.Store.View(ctx, deploymentID, func(ctx context.Context, tx *store.Tx) (err error) {
		list, err = tx.Repositories(ctx, c.ID)
		return err
	})
	for _, r := range list {
		if r.HookID != "" && err == nil {
			err = h.RemoveHook(ctx, r, r.HookID)
		}
	}
	return err
}
