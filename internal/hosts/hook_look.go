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
// somebody may have changed one there, or an earlier version made it. One that tells this server
// only a part is made anew, once; what stays wrong is kept, for people. One that tells another
// address is left alone, as another server may live by it: the original of a restored copy. What
// goes wrong at one holds up no other.
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
	found, err := a.find(ctx, r)
	if err == nil && found.mendable && found.lacks != r.HookLacks { // else it was tried before: the host makes no other, or does not let us
		if err = a.mend(ctx, r); err == nil {
			if r, err = a.again(ctx, r.ID); err == nil {
				found, err = a.find(ctx, r)
			}
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil && found.lacks == "" {
		found.lacks = r.HookLacks
	}
	return errors.Join(err, a.write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.NoteHookLook(ctx, r.ID, r.HookID, found.address, found.lacks)
	}))
}

// mend makes the webhook of a repository anew, unless somebody did so since it was looked at,
// perhaps for another address.
func (a hookAt) mend(ctx context.Context, r redoubt.Repository) error {
	return a.alone(ctx, r.ID, func(ctx context.Context, now redoubt.Repository) (string, bool, error) {
		if now.HookID != r.HookID {
			return "", false, nil
		}
		return a.put(ctx, now)
	})
}

func (a hookAt) again(ctx context.Context, id int64) (r redoubt.Repository, err error) {
	err = a.Store.View(ctx, a.deploymentID, func(ctx context.Context, tx *store.Tx) error {
		r, err = tx.RepositoryByID(ctx, id)
		return err
	})
	return r, err
}

// foundHook is how the webhook of a repository is at its host.
type foundHook struct {
	address  string // that it tells; empty: it is not there
	lacks    string // what is wrong with it, as the end of a sentence; empty: nothing
	mendable bool   // it tells this server, and nobody seems to want it so
}

// find asks the host for the webhook of a repository.
func (a hookAt) find(ctx context.Context, r redoubt.Repository) (foundHook, error) {
	list, err := a.host.Hooks(ctx, r)
	if err != nil {
		return foundHook{}, err
	}
	for _, one := range list {
		switch {
		case one.ID != r.HookID:
		case one.Off:
			return foundHook{one.Address, "is switched off", false}, nil
		case r.HookAddress != "" && one.Address != r.HookAddress:
			return foundHook{one.Address, "tells another address, " + redoubt.Line(one.Address), false}, nil
		case one.Lacks != "":
			return foundHook{one.Address, "does not tell of " + one.Lacks, one.Address == a.address}, nil
		default:
			return foundHook{address: one.Address}, nil
		}
	}
	return foundHook{lacks: "is not there any more"}, nil
}
