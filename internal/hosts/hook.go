package hosts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
)

// How long a host is asked for the webhooks of one repository; how long one alone does so, which
// is longer, so that nobody takes over meanwhile; how long others wait, which is longer yet, as
// who held it may have been killed; and how often they look.
const (
	hookFor  = time.Minute
	hookHold = 75 * time.Second
	hookWait = 2 * time.Minute
	hookLook = 500 * time.Millisecond
)

// errNoHookURL says which setting is missing.
var errNoHookURL = fmt.Errorf("the server was not told the address at which code hosts reach it, so none was asked to tell it anything: "+
	"start it with --public-url (REDOUBT_PUBLIC_URL): %w", redoubt.ErrConflict)

// HooksAt is the address at which code hosts reach the server; empty: it was configured with none.
func (k *Keeper) HooksAt() string { return k.HookURL }

// Hook has the host tell this server of all repositories of a connection that are
// projects, and returns how many there are by now. A webhook that is there stays; one that is
// silent, tells not all, or another address, as of another server, is made anew; and
// one that nobody knows of is removed. Those that the host refuses are named in refused; the others
// are made. A server that was configured with no address touches none: that is a
// redoubt.ErrConflict.
func (k *Keeper) Hook(ctx context.Context, deploymentID int64, by redoubt.Actor, id int64) (n int, refused, err error) {
	c, err := k.connection(ctx, deploymentID, id)
	if err != nil {
		return 0, nil, err
	}
	if k.HookURL == "" {
		return 0, nil, errNoHookURL
	}
	h, err := k.host(deploymentID, c)
	if err != nil {
		return 0, nil, err
	}
	at, err := k.hookAt(deploymentID, by, c, h)
	if err != nil {
		return 0, nil, err
	}
	var list []redoubt.Repository
	if err := k.Store.View(ctx, deploymentID, func(ctx context.Context, tx *store.Tx) error {
		list, err = tx.Repositories(ctx, id)
		return err
	}); err != nil {
		return 0, nil, err
	}
	var faults []error
	for _, r := range list {
		if r.ProjectID == 0 || !r.Scannable() {
			continue
		}
		if err := at.keep(ctx, r.ID); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", r.FullName, err))
			continue
		}
		n++
	}
	return n, errors.Join(faults...), nil
}

// hookAt is where webhooks of a connection are to tell.
type hookAt struct {
	*Keeper
	deploymentID    int64
	by              redoubt.Actor
	host            scm.Host
	address, secret string
}

func (k *Keeper) hookAt(deploymentID int64, by redoubt.Actor, c redoubt.Connection, h scm.Host) (hookAt, error) {
	secret, err := k.Vault.OpenWebhook(deploymentID, c)
	return hookAt{k, deploymentID, by, h, fmt.Sprintf("%s%s/%d/%d", strings.TrimSuffix(k.HookURL, "/"), webhooks, deploymentID, c.ID), secret}, err
}

// keep has a repository have one webhook that tells the address, which is kept. Of two who ask
// for it at once, also on several servers, the second finds what the first made.
func (a hookAt) keep(ctx context.Context, repositoryID int64) error {
	return a.alone(ctx, repositoryID, a.put)
}

// alone does put where nobody else asks for the repository's webhooks, and keeps what came of it.
func (a hookAt) alone(ctx context.Context, repositoryID int64, put func(context.Context, redoubt.Repository) (id string, changed bool, err error)) error {
	r, until, err := a.claim(ctx, repositoryID)
	if err != nil {
		return err
	}
	asking, cancel := context.WithTimeout(ctx, hookFor)
	defer cancel()
	id, changed, err := put(asking, r)
	kept := a.write(context.WithoutCancel(ctx), func(ctx context.Context, tx *store.Tx) error {
		if changed {
			if err := tx.SetRepositoryHook(ctx, r.ID, id, a.tells(id)); err != nil {
				return err
			}
		}
		return tx.LeaveHook(ctx, r.ID, until)
	})
	return errors.Join(err, kept)
}

// tells is the address that a webhook tells; empty where there is none.
func (a hookAt) tells(id string) string {
	if id == "" {
		return ""
	}
	return a.address
}

func (a hookAt) write(ctx context.Context, write func(context.Context, *store.Tx) error) error {
	return a.Store.Update(ctx, a.deploymentID, a.by, write)
}

// claim waits until nobody else asks for the repository's webhooks, and reads it. It is held
// until a time.
func (a hookAt) claim(ctx context.Context, repositoryID int64) (r redoubt.Repository, until time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, hookWait)
	defer cancel()
	for {
		err = a.write(ctx, func(ctx context.Context, tx *store.Tx) error {
			if until, err = tx.ClaimHook(ctx, repositoryID, hookHold); err == nil && !until.IsZero() {
				r, err = tx.RepositoryByID(ctx, repositoryID)
			}
			return err
		})
		if err != nil || !until.IsZero() {
			return r, until, err
		}
		select {
		case <-ctx.Done():
			return r, until, fmt.Errorf("somebody else was making its webhook all the time; try again in a minute: %w", redoubt.ErrUnavailable)
		case <-time.After(hookLook):
		}
	}
}

// put has the host have one webhook that tells the address. Where that is another than before it
// returns its id, which is empty where the old one is gone and no other could be made. What
// tells the address and is not known was made by somebody who could not keep it, perhaps with
// another secret; one that is silent the host may have switched off.
func (a hookAt) put(ctx context.Context, r redoubt.Repository) (id string, changed bool, err error) {
	list, err := a.host.Hooks(ctx, r)
	if err != nil {
		return "", false, err
	}
	stays := false
	for _, one := range list {
		switch {
		case one.ID == r.HookID && a.isOurs(one, r) && one.Lacks == "" && !one.Off && !r.HookSilent(a.Clock()):
			stays = true
		case one.ID == r.HookID || one.Address == a.address:
			if err := a.host.RemoveHook(ctx, r, one.ID); err != nil {
				return "", changed, err
			}
			changed = changed || one.ID == r.HookID
		}
	}
	if stays {
		return "", false, nil
	}
	if id, err = a.host.AddHook(ctx, r, a.address, a.secret); err != nil {
		return "", changed, err
	}
	return id, true, nil
}

// isOurs is whether the webhook that a repository has tells the address, and was made for it as far as
// anybody knows.
func (a hookAt) isOurs(one scm.Hook, r redoubt.Repository) bool {
	return one.Address == a.address && (r.HookAddress == "" || r.HookAddress == a.address)
}
