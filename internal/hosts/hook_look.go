package hosts

import (
	"context"
	"errors"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
)

// How many webhooks of a connection are looked at in one go, and for how long: those that nobody
// looked at the longest come first, so that the others have their turn next time.
const (
	maxLooked = 100
	lookFor   = 20 * time.Second
)

// lookAtHooks looks whether the webhooks that we made at a host still are as we made them:
// somebody may have changed one there, or an earlier version made it. One that tells only a part,
// or another address, is made anew, once; what stays wrong is kept, for people. What goes wrong
// at one holds up no other.
func (k *Keeper) lookAtHooks(ctx context.Context, deploymentID int64, c redoubt.Connection, h scm.Host) error {
	if !c.Kind.HasWebhooks() {
		return nil
	}
	at, err := k.hookAt(deploymentID, following, c, h)
	if err != nil {
		return err
	}
	var list []redoubt.Repository
	if err := k.Store.View(ctx, deploymentID, func(ctx context.Context, tx *store.Tx) (err error) {
		list, err = tx.RepositoriesToLookAt(ctx, c.ID, maxLooked)
		return err
	}); err != nil {
		return err
	}
	asking, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	for _, r := range list {
		err := at.look(asking, r)
		if busy := (*redoubt.BusyError)(nil); asking.Err() != nil || errors.As(err, &busy) || unknownTo(err) {
			break
		}
		if err != nil {
			k.Logger.InfoContext(ctx, "a webhook cannot be looked at", "repository", r.FullName, "cause", err)
		}
	}
	return ctx.Err()
}

// look looks at the webhook of one repository.
func (a hookAt) look(ctx context.Context, r redoubt.Repository) error {
	lacks, mendable, err := a.lacks(ctx, r)
	if err == nil && mendable && lacks != r.HookLacks { // else it was tried before: the host makes no other, or does not let us
		if err = a.keep(ctx, r.ID); err == nil {
			if r, err = a.again(ctx, r.ID); err == nil {
				lacks, _, err = a.lacks(ctx, r)
			}
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil && lacks == "" {
		lacks = r.HookLacks
	}
	return errors.Join(err, a.write(ctx, func(ctx context.Context, tx *store.Tx) error { return tx.NoteHookLook(ctx, r.ID, r.HookID, lacks) }))
}

func (a hookAt) again(ctx context.Context, id int64) (r redoubt.Repository, err error) {
	err = a.Store.View(ctx, a.deploymentID, func(ctx context.Context, tx *store.Tx) error {
		r, err = tx.RepositoryByID(ctx, id)
		return err
	})
	return r, err
}

// lacks says what is wrong with the webhook of a repository, as the end of a sentence; empty:
// nothing. It is mendable where nobody seems to want it so.
func (a hookAt) lacks(ctx context.Context, r redoubt.Repository) (lacks string, mendable bool, err error) {
	list, err := a.host.Hooks(ctx, r)
	if err != nil {
		return "", false, err
	}
	for _, one := range list {
		switch {
		case one.ID != r.HookID:
		case one.Off:
			return "is switched off", false, nil
		case a.HasHookURL() && one.Address != a.address:
			return "tells another address, " + redoubt.Line(one.Address), true, nil
		case one.Lacks != "":
			return "does not tell of " + one.Lacks, a.HasHookURL(), nil
		default:
			return "", false, nil
		}
	}
	return "is not there any more", false, nil
}
