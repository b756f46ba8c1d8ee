// Package hosts manages connections to code hosts: it follows repositories and change requests,
// reports scan results, and creates tickets. It connects package store with package scm. It never
// calls a host within a transaction, so that a slow host cannot block a deployment.
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

// Opener opens the host of a connection. Forget drops cached hosts without requests since a time.
// scm.Config implements it.
type Opener interface {
	Open(c model.Connection, credential model.HostCredential) (scm.Host, error)
	Forget(before time.Time)
}

// Config contains the dependencies of a Service.
type Config struct {
	Store     *store.Store
	Vault     *scm.Vault
	Hosts     Opener
	Clock     func() time.Time
	Logger    *slog.Logger
	PublicURL func() string // public base URL of the server for links, without a trailing slash
	// HookURL is the configured public address for webhooks. It is never derived from a request.
	// Empty: none is configured.
	HookURL string
	// Instance identifies this server, and all that share its database, in comments at change
	// requests. It consists of hexadecimal digits.
	Instance string
	// Proposed is called for a change request that is new, or has another head or base branch, in
	// the transaction that stores it. Pushed is called for a new head of the branch that Watched
	// returns, without refs/heads/; "" ignores pushes. Each may be nil.
	Proposed func(ctx context.Context, tx *store.Tx, r model.Repository, c model.ChangeRequest) error
	Watched  func(ctx context.Context, tx *store.Tx, r model.Repository) (branch string, err error)
	Pushed   func(ctx context.Context, tx *store.Tx, r model.Repository, branch, commit string) error
	// Findings selects the findings of a deployment that replies may change. Nil disables replies.
	Findings func(ctx context.Context, deploymentID int64) (triage.Selector, error)
}

// Service manages the connections of all deployments. It is safe for concurrent use.
type Service struct {
	Config
	seats largeBodySlots
}

// New returns a Service. Register its Follow, ProcessWebhook, Tell and CreateTicket with a queue.
func New(c Config) *Service { return &Service{Config: c} }

// host opens the host of a connection.
func (k *Service) host(deploymentID int64, c model.Connection) (scm.Host, error) {
	credential, err := k.Vault.Open(deploymentID, c)
	if err != nil {
		return nil, err
	}
	return k.Hosts.Open(c, credential)
}

// storeRepositories stores the repositories of a host and creates projects for those that the connection
// follows.
func (k *Service) storeRepositories(
	ctx context.Context, tx *store.Tx, c model.Connection, list []model.Repository,
) error {
	now, err := tx.SaveRepositories(ctx, c.ID, list, true)
	if err != nil {
		return err
	}
	_, err = tx.AssignProjects(ctx, now, c.Follows)
	return err
}

// connection reads a connection.
func (k *Service) connection(ctx context.Context, deploymentID, id int64) (c model.Connection, err error) {
	err = k.Store.View(ctx, deploymentID, func(ctx context.Context, tx *store.Tx) error {
		c, err = tx.Connection(ctx, id)
		return err
	})
	return c, err
}

// unhook removes our webhooks at a host. Webhooks with another address stay: in a copy of a
// database, they belong to the original server.
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
		err = fmt.Errorf("%d webhooks point to another or an unknown address: remove them at the host if they are not needed",
			stay)
	}
	return err
}
