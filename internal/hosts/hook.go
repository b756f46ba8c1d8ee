package hosts

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
)

// errNoHookURL says which setting is missing.
var errNoHookURL = fmt.Errorf("the server was not told the address at which code hosts reach it, so none was asked "+
	"to tell it anything: "+
	"start it with --public-url (REDOUBT_PUBLIC_URL): %w", model.ErrConflict)

// HooksAt is the address at which code hosts reach the server; empty: it was configured with none.
func (k *Service) HooksAt() string { return k.HookURL }

// Hook makes webhooks for the repositories of a connection that are projects, and returns how
// many have one by now. A webhook that is there stays; one that is silent, lacks events, or has
// another address is made again; and one with our address that we do not know is removed. With
// a repository's id, only that one's is made, and a webhook with another address stays at the
// host: it may belong to another server. refused names the repositories where the host refused;
// the others are made. A server without a public address makes none: that is a
// model.ErrConflict.
func (k *Service) Hook(
	ctx context.Context, deploymentID int64, by model.Actor, id, repositoryID int64,
) (n int, refused, err error) {
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
	var list []model.Repository
	if err := k.Store.View(ctx, deploymentID, func(ctx context.Context, tx *store.Tx) error {
		list, err = tx.Repositories(ctx, id)
		return err
	}); err != nil {
		return 0, nil, err
	}
	var faults []error
	for _, r := range list {
		if r.ProjectID == 0 || !r.Scannable() || repositoryID != 0 && r.ID != repositoryID {
			continue
		}
		if err := at.keep(ctx, r, repositoryID == 0); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", r.FullName, err))
			continue
		}
		n++
	}
	if repositoryID != 0 && n == 0 && faults == nil {
		return 0, nil, model.ErrNotFound
	}
	return n, errors.Join(faults...), nil
}

// hookAt is where webhooks of a connection are to tell.
type hookAt struct {
	*Service
	deploymentID    int64
	by              model.Actor
	host            scm.Host
	address, secret string
}

func (k *Service) hookAt(deploymentID int64, by model.Actor, c model.Connection, h scm.Host) (hookAt, error) {
	secret, err := k.Vault.OpenWebhook(deploymentID, c)
	return hookAt{
		k, deploymentID, by, h,
		fmt.Sprintf("%s%s/%d/%d", strings.TrimSuffix(k.HookURL, "/"), webhooks, deploymentID, c.ID), secret,
	}, err
}

// keep makes the webhook of a repository and stores its id, also where the request ended
// meanwhile.
func (a hookAt) keep(ctx context.Context, r model.Repository, replace bool) error {
	id, changed, err := a.put(ctx, r, replace)
	if !changed {
		return err
	}
	kept := a.Store.Update(context.WithoutCancel(ctx), a.deploymentID, a.by, func(
		ctx context.Context, tx *store.Tx,
	) error {
		return tx.SetRepositoryHook(ctx, r.ID, id, a.tells(id))
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

// put has the host have one webhook that tells the address. Where that is another than before it
// returns its id, which is empty where the old one is gone and no other could be made. What
// tells the address and is not known was made by somebody who could not keep it, perhaps with
// another secret; one that is silent the host may have switched off. The webhook that is known
// and has another address is removed only where it is to be replaced.
func (a hookAt) put(ctx context.Context, r model.Repository, replace bool) (id string, changed bool, err error) {
	list, err := a.host.Hooks(ctx, r)
	if err != nil {
		return "", false, err
	}
	stays := false
	for _, one := range list {
		switch {
		case one.ID == r.HookID && a.isOurs(one, r) && one.Lacks == "" && !one.Off && !r.HookSilent(a.Clock()):
			stays = true
		case one.Address == a.address || replace && one.ID == r.HookID:
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
func (a hookAt) isOurs(one scm.Hook, r model.Repository) bool {
	return one.Address == a.address && (r.HookAddress == "" || r.HookAddress == a.address)
}
