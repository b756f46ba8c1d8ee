package hosts

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
)

// hostAccount contains the account of a connection and the repositories visible to it.
type hostAccount struct {
	account      scm.Account
	repositories []model.Repository
}

func readHost(ctx context.Context, h scm.Host) (s hostAccount, err error) {
	if s.account, err = h.Who(ctx); err != nil {
		return s, err
	}
	return s, h.Repositories(ctx, func(part []model.Repository) error {
		s.repositories = append(s.repositories, part...)
		return nil
	})
}

// present queries a host for the account of a credential and the visible repositories. Invalid
// input and failures at the host are returned as model.InvalidError.
func (k *Service) present(
	ctx context.Context, c model.Connection, credential model.HostCredential,
) (found hostAccount, err error) {
	if c.Kind.HasAPI() || credential != (model.HostCredential{}) { // public remotes need no credential
		if err := model.CheckCredential(c.Kind, credential); err != nil {
			return found, err
		}
	}
	h, err := k.Hosts.Open(c, credential)
	if err != nil {
		return found, err
	}
	if found, err = readHost(ctx, h); err != nil && ctx.Err() == nil {
		err = model.Invalid("base_url", "%s", err.Error())
	}
	return found, err
}

// PrepareAdd queries the host of a new connection for its account and visible repositories. It
// returns a model.InvalidError if the connection, the credential or the host's response is invalid.
// The returned function stores the result.
func (k *Service) PrepareAdd(
	ctx context.Context, c model.Connection, credential model.HostCredential,
) (store.SaveConnection, error) {
	if err := model.CheckConnection(c); err != nil {
		return nil, err
	}
	found, err := k.present(ctx, c, credential)
	if err != nil {
		return nil, err
	}
	if c.People, err = k.link(ctx, func() (scm.Host, error) { return k.Hosts.Open(c, credential) }, nil, c); err != nil {
		return nil, err
	}
	c.Account, c.CheckedAt = found.account.Login, k.Clock()
	return func(ctx context.Context, tx *store.Tx) (model.Connection, error) {
		made, err := tx.AddConnection(ctx, c, func(id int64) (s store.Sealed, err error) {
			of := model.Connection{ID: id, Kind: c.Kind, BaseURL: c.BaseURL}
			if credential != (model.HostCredential{}) {
				s.Credential, err = k.Vault.Seal(tx.Deployment().ID, of, credential)
			}
			s.WebhookSecret = k.Vault.SealWebhook(tx.Deployment().ID, of, rand.Text())
			return s, err
		})
		if err != nil {
			return made, err
		}
		return made, k.storeRepositories(ctx, tx, made, found.repositories)
	}, nil
}

// PrepareCheck queries a host for the account of a connection and its visible repositories. The
// returned function stores the result, or the error of the host as the connection's problem. The
// error asked is that of the host.
func (k *Service) PrepareCheck(
	ctx context.Context, deploymentID, id int64,
) (save store.SaveConnection, hostErr, err error) {
	c, err := k.connection(ctx, deploymentID, id)
	if err != nil {
		return nil, nil, err
	}
	h, hostErr := k.host(deploymentID, c)
	var found hostAccount
	if hostErr == nil {
		found, hostErr = readHost(ctx, h)
	}
	if hostErr == nil {
		if err := k.verifyHooks(ctx, deploymentID, c, h); err != nil {
			return nil, nil, err
		}
	}
	if ctx.Err() != nil {
		return nil, hostErr, ctx.Err()
	}
	return func(ctx context.Context, tx *store.Tx) (model.Connection, error) {
		if isBusy(hostErr) { // returned but not stored: the connection works
			now, err := tx.Connection(ctx, id)
			now.Problem = hostErr.Error()
			return now, err
		}
		problem := ""
		if hostErr != nil {
			problem = hostErr.Error()
		}
		if err := tx.NoteConnectionCheck(ctx, id, found.account.Login, problem); err != nil {
			return c, err
		}
		now, err := tx.Connection(ctx, id)
		if err != nil || hostErr != nil {
			return now, err
		}
		return now, k.storeRepositories(ctx, tx, now, found.repositories)
	}, hostErr, nil
}

// PrepareUpdate validates a change of a connection. It queries the host if the credential or the
// linked people change. It returns a model.InvalidError if the change is invalid. The returned
// function stores the change and creates projects for all repositories that match the new globs.
func (k *Service) PrepareUpdate(
	ctx context.Context, deploymentID, id int64, change model.ConnectionChange,
) (store.SaveConnection, error) {
	c, err := k.connection(ctx, deploymentID, id)
	if err != nil {
		return nil, err
	}
	if err := model.CheckConnection(change.Of(c)); err != nil {
		return nil, err
	}
	var found hostAccount
	if change.Credential != nil {
		if found, err = k.present(ctx, c, *change.Credential); err != nil {
			return nil, err
		}
	}
	if change.People != nil {
		people, err := k.link(ctx, func() (scm.Host, error) {
			if change.Credential != nil {
				return k.Hosts.Open(c, *change.Credential)
			}
			return k.host(deploymentID, c)
		}, c.People, change.Of(c))
		if err != nil {
			return nil, err
		}
		change.People = &people
	}
	return func(ctx context.Context, tx *store.Tx) (after model.Connection, err error) {
		before, err := tx.Connection(ctx, id)
		if err != nil {
			return before, err
		}
		var sealed store.Sealed
		if change.Credential != nil {
			if sealed.Credential, err = k.Vault.Seal(deploymentID, before, *change.Credential); err != nil {
				return before, err
			}
		}
		after = change.Of(before)
		after.Account = found.account.Login
		if after, err = tx.UpdateConnection(ctx, after, sealed); err != nil {
			return after, err
		}
		if change.Credential == nil {
			list, err := tx.Repositories(ctx, id)
			if err == nil {
				_, err = tx.AssignProjects(ctx, list, after.Follows)
			}
			return after, err
		}
		if err := tx.NoteConnectionCheck(ctx, id, found.account.Login, ""); err != nil {
			return after, err
		}
		if err := k.storeRepositories(ctx, tx, after, found.repositories); err != nil {
			return after, err
		}
		return tx.Connection(ctx, id)
	}, nil
}

// PrepareRemove removes the webhooks of a connection at its host. If the host cannot be reached,
// the webhooks remain there and later deliveries are rejected. The returned function deletes the
// connection.
func (k *Service) PrepareRemove(ctx context.Context, deploymentID, id int64) (store.SaveConnection, error) {
	c, err := k.connection(ctx, deploymentID, id)
	if err != nil {
		return nil, err
	}
	if h, err := k.host(deploymentID, c); err == nil {
		if err := k.unhook(ctx, deploymentID, c, h); err != nil {
			k.Logger.WarnContext(ctx, "webhooks were not removed from the host", "connection", c.Name, "cause", err)
		}
	}
	return func(ctx context.Context, tx *store.Tx) (model.Connection, error) {
		return c, tx.DeleteConnection(ctx, id)
	}, nil
}

// commit runs a prepared write in its own transaction.
func (k *Service) commit(
	ctx context.Context, deploymentID int64, by model.Actor, save store.SaveConnection,
) (c model.Connection, err error) {
	err = k.Store.Update(ctx, deploymentID, by, func(ctx context.Context, tx *store.Tx) error {
		c, err = save(ctx, tx)
		return err
	})
	return c, err
}

// Check queries a host for the account of a connection and its visible repositories. It stores the
// result, or the error as the connection's problem. The error is also returned.
func (k *Service) Check(ctx context.Context, deploymentID int64, by model.Actor, id int64) (model.Connection, error) {
	save, hostErr, err := k.PrepareCheck(ctx, deploymentID, id)
	if err != nil {
		return model.Connection{}, err
	}
	c, err := k.commit(ctx, deploymentID, by, save)
	return c, errors.Join(hostErr, err)
}
