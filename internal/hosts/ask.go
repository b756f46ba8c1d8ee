package hosts

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
)

// seen is what a host says when it is asked who the connection is.
type seen struct {
	account      scm.Account
	repositories []model.Repository
}

func look(ctx context.Context, h scm.Host) (s seen, err error) {
	if s.account, err = h.Who(ctx); err != nil {
		return s, err
	}
	return s, h.Repositories(ctx, func(part []model.Repository) error {
		s.repositories = append(s.repositories, part...)
		return nil
	})
}

// present asks a host who a connection is that shows this credential, and what it sees.
// What will not do is a model.InvalidError.
func (k *Service) present(
	ctx context.Context, c model.Connection, credential model.HostCredential,
) (found seen, err error) {
	if c.Kind.HasAPI() || credential != (model.HostCredential{}) { // a public remote needs none
		if err := model.CheckCredential(c.Kind, credential); err != nil {
			return found, err
		}
	}
	h, err := k.Hosts.Open(c, credential)
	if err != nil {
		return found, err
	}
	if found, err = look(ctx, h); err != nil && ctx.Err() == nil {
		err = model.Invalid("base_url", "%s", err.Error())
	}
	return found, err
}

// PrepareAdd asks the host of a connection that is to be made who that is there and what it
// sees. What will not do is a model.InvalidError.
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
		return made, k.keep(ctx, tx, made, found.repositories)
	}, nil
}

// PrepareCheck asks a host again who the connection is and what it sees. What is kept is the
// answer, or what went wrong as the connection's problem, which asked says too.
func (k *Service) PrepareCheck(
	ctx context.Context, deploymentID, id int64,
) (keep store.SaveConnection, asked, err error) {
	c, err := k.connection(ctx, deploymentID, id)
	if err != nil {
		return nil, nil, err
	}
	h, asked := k.host(deploymentID, c)
	var found seen
	if asked == nil {
		found, asked = look(ctx, h)
	}
	if asked == nil {
		if err := k.verifyHooks(ctx, deploymentID, c, h); err != nil {
			return nil, nil, err
		}
	}
	if ctx.Err() != nil {
		return nil, asked, ctx.Err()
	}
	return func(ctx context.Context, tx *store.Tx) (model.Connection, error) {
		if asksToWait(asked) { // returned but not stored: the connection works
			now, err := tx.Connection(ctx, id)
			now.Problem = asked.Error()
			return now, err
		}
		problem := ""
		if asked != nil {
			problem = asked.Error()
		}
		if err := tx.NoteConnectionCheck(ctx, id, found.account.Login, problem); err != nil {
			return c, err
		}
		now, err := tx.Connection(ctx, id)
		if err != nil || asked != nil {
			return now, err
		}
		return now, k.keep(ctx, tx, now, found.repositories)
	}, asked, nil
}

// PrepareUpdate asks the host who the connection is with another credential, where there is
// one. What will not do is a model.InvalidError. What the connection follows now becomes
// projects at once.
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
	var found seen
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
				_, err = tx.TakeRepositories(ctx, list, after.Follows)
			}
			return after, err
		}
		if err := tx.NoteConnectionCheck(ctx, id, found.account.Login, ""); err != nil {
			return after, err
		}
		if err := k.keep(ctx, tx, after, found.repositories); err != nil {
			return after, err
		}
		return tx.Connection(ctx, id)
	}, nil
}

// PrepareRemove asks the host of a connection that is to be forgotten to forget our webhooks.
// Where it cannot be asked, they are refused from then on.
func (k *Service) PrepareRemove(ctx context.Context, deploymentID, id int64) (store.SaveConnection, error) {
	c, err := k.connection(ctx, deploymentID, id)
	if err != nil {
		return nil, err
	}
	if h, err := k.host(deploymentID, c); err == nil {
		if err := k.unhook(ctx, deploymentID, c, h); err != nil {
			k.Logger.WarnContext(ctx, "webhooks stay at the host", "connection", c.Name, "cause", err)
		}
	}
	return func(ctx context.Context, tx *store.Tx) (model.Connection, error) {
		return c, tx.DeleteConnection(ctx, id)
	}, nil
}

// kept writes what a host was asked, in a transaction of its own.
func (k *Service) kept(
	ctx context.Context, deploymentID int64, by model.Actor, keep store.SaveConnection,
) (c model.Connection, err error) {
	err = k.Store.Update(ctx, deploymentID, by, func(ctx context.Context, tx *store.Tx) error {
		c, err = keep(ctx, tx)
		return err
	})
	return c, err
}

// Check asks a host again who the connection is and what it sees, and keeps the answer:
// what went wrong is kept as the connection's problem, and returned.
func (k *Service) Check(ctx context.Context, deploymentID int64, by model.Actor, id int64) (model.Connection, error) {
	keep, asked, err := k.PrepareCheck(ctx, deploymentID, id)
	if err != nil {
		return model.Connection{}, err
	}
	c, err := k.kept(ctx, deploymentID, by, keep)
	return c, errors.Join(asked, err)
}
