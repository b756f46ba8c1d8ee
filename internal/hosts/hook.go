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

// errNoHookURL is returned by servers without a public address.
var errNoHookURL = fmt.Errorf("the server has no public address for webhooks: start it with --public-url "+
	"(REDOUBT_PUBLIC_URL): %w", model.ErrConflict)

// HooksAt returns the address at which code hosts reach the server, or "" if none is configured.
func (k *Service) HooksAt() string { return k.HookURL }

// Hook creates webhooks for the repositories of a connection that are projects. n counts the
// repositories that have a webhook afterwards.
//
// A working webhook is left unchanged. One that missed events, lacks events or has another address
// is replaced. An unknown webhook with our address is removed. With a repositoryID, only the
// webhook of that repository is created, and one with another address stays: it may belong to
// another server.
//
// refused joins the errors of repositories where the host refused. A server without a public
// address returns model.ErrConflict.
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
		if err := at.create(ctx, r, repositoryID == 0); err != nil {
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

// hookAt is the address and secret of a connection's webhooks.
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

// create creates the webhook of a repository and stores its id, even if the request was canceled.
func (a hookAt) create(ctx context.Context, r model.Repository, replace bool) error {
	id, changed, err := a.put(ctx, r, replace)
	if !changed {
		return err
	}
	storeErr := a.Store.Update(context.WithoutCancel(ctx), a.deploymentID, a.by, func(
		ctx context.Context, tx *store.Tx,
	) error {
		return tx.SetRepositoryHook(ctx, r.ID, id, a.addressFor(id))
	})
	return errors.Join(err, storeErr)
}

// addressFor returns the address of a webhook, or "" if there is no webhook.
func (a hookAt) addressFor(id string) string {
	if id == "" {
		return ""
	}
	return a.address
}

// put ensures that the host has one working webhook with our address. If the webhook changed, it
// returns the new id, which is "" if the old one was removed and none could be created.
//
// An unknown webhook with our address is removed: its id was not stored, and its secret may differ.
// A silent webhook is replaced, because the host may have disabled it. The known webhook with
// another address is removed only if replace is set.
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

// isOurs reports whether the webhook of a repository has our address and, if known, was created for
// it.
func (a hookAt) isOurs(one scm.Hook, r model.Repository) bool {
	return one.Address == a.address && (r.HookAddress == "" || r.HookAddress == a.address)
}
