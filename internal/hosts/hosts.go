// Package hosts puts connections to work: it makes and checks them, follows their
// repositories and change requests, tells change requests what scans found, and creates
// tickets.
//
// Its border: between the store and the code hosts (package scm). It asks a host and
// writes what came of it, never both in one transaction: no host holds up a deployment.
package hosts

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/triage"
)

// Opener opens the host of a connection, and forgets those by which nothing was asked since a
// time; scm.Config does.
type Opener interface {
	Open(c model.Connection, credential model.HostCredential) (scm.Host, error)
	Forget(before time.Time)
}

// Config is what a keeper is made of.
type Config struct {
	Store     *store.Store
	Vault     *scm.Vault
	Hosts     Opener
	Clock     func() time.Time
	Logger    *slog.Logger
	PublicURL func() string // how others reach the server, for links, without a slash at its end
	// HookURL is what code hosts tell webhooks: the public address that the server was
	// configured with, never one that a request came to. Empty: it was given none.
	HookURL string
	// Instance tells the server, with all that share its database, from others that write at
	// the same change requests: hexadecimal digits.
	Instance string
	// Proposed is told, in the transaction that keeps it, of a change request that is
	// new or has another head or base branch; Pushed of another head of the branch that
	// Watched names, without refs/heads/: empty where pushes are nothing to us. Each may be
	// nil.
	Proposed func(ctx context.Context, tx *store.Tx, r model.Repository, c model.ChangeRequest) error
	Watched  func(ctx context.Context, tx *store.Tx, r model.Repository) (branch string, err error)
	Pushed   func(ctx context.Context, tx *store.Tx, r model.Repository, branch, commit string) error
	// Findings selects the findings of a deployment that replies decide about. Nil: replies
	// decide nothing.
	Findings func(ctx context.Context, deploymentID int64) (triage.Selector, error)
}

// Service keeps the connections of all deployments. It is safe for concurrent use.
type Service struct {
	Config
	seats largeBodySlots
}

// New returns a keeper. Register its Follow, Hear, Tell and CreateTicket with a queue.
func New(c Config) *Service { return &Service{Config: c} }

// host opens the host of a connection.
func (k *Service) host(deploymentID int64, c model.Connection) (scm.Host, error) {
	credential, err := k.Vault.Open(deploymentID, c)
	if err != nil {
		return nil, err
	}
	return k.Hosts.Open(c, credential)
}

// keep writes what a host has, and takes what the connection follows.
func (k *Service) keep(ctx context.Context, tx *store.Tx, c model.Connection, list []model.Repository) error {
	now, err := tx.SaveRepositories(ctx, c.ID, list, true)
	if err != nil {
		return err
	}
	_, err = tx.TakeRepositories(ctx, now, c.Follows)
	return err
}

// connection reads one.
func (k *Service) connection(ctx context.Context, deploymentID, id int64) (c model.Connection, err error) {
	err = k.Store.View(ctx, deploymentID, func(ctx context.Context, tx *store.Tx) error {
		c, err = tx.Connection(ctx, id)
		return err
	})
	return c, err
}

// unhook asks a host to forget our webhooks, but for those that tell another address than this
// server's, as a copy of a database has them: they stay.
func (k *Service) unhook(ctx context.Context, deploymentID int64, c model.Connection, h scm.Host) error {
	at, err := k.hookAt(deploymentID, following, c, h)
	if err != nil {
		return err
	}
	var list []model.Repository
	err = k.Store.View(ctx, deploymentID, func(ctx context.Context, tx *store.Tx) (err error) {
		list, err = tx.Repositories(ctx, c.ID)
		return err
	})
	stay := 0
	for _, r := range list {
		switch {
		case r.HookID == "" || err != nil:
		case r.HookAddress != at.address:
			stay++
		default:
			err = h.RemoveHook(ctx, r, r.HookID)
		}
	}
	if err == nil && stay > 0 {
		err = fmt.Errorf("%d of them tell another address than this server's, or none is known; remove them there if "+
			"nobody needs them", stay)
	}
	return err
}
