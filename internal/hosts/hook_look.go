package hosts

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
)

// How many webhooks of a connection are looked at in one go, and for how long: those that nobody
// looked at the longest come first, so that the others have their turn next time.
const (
	maxLooked = 100
	lookFor   = 20 * time.Second
)

// verifyHooks asks a host whether the webhooks that we made there still are as we made them, and
// stores what is wrong, for people: it makes none. What goes wrong at one holds up no other.
func (k *Service) verifyHooks(ctx context.Context, deploymentID int64, c model.Connection, h scm.Host) error {
	if !c.Kind.HasWebhooks() {
		return nil
	}
	var list []model.Repository
	if err := k.Store.View(ctx, deploymentID, func(ctx context.Context, tx *store.Tx) (err error) {
		list, err = tx.HooksDueForCheck(ctx, c.ID, maxLooked)
		return err
	}); err != nil {
		return err
	}
	asking, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	for _, r := range list {
		err := k.lookAtHook(asking, deploymentID, h, r)
		if busy := (*model.BusyError)(nil); asking.Err() != nil || errors.As(err, &busy) || unknownTo(err) {
			break
		}
		if err != nil {
			k.Logger.InfoContext(ctx, "a webhook cannot be looked at", "repository", r.FullName, "cause", err)
		}
	}
	return ctx.Err()
}

// lookAtHook asks for the webhook of one repository. A host that does not answer leaves what was
// known of it.
func (k *Service) lookAtHook(ctx context.Context, deploymentID int64, h scm.Host, r model.Repository) error {
	lacks := r.HookLacks
	list, err := h.Hooks(ctx, r)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil {
		lacks = hookLacks(list, r)
	}
	return errors.Join(err, k.Store.Update(ctx, deploymentID, following, func(ctx context.Context, tx *store.Tx) error {
		return tx.RecordHookCheck(ctx, r.ID, r.HookID, lacks)
	}))
}

// hookLacks says what is wrong with the webhook of a repository, by all that the host has
// there, as the end of a sentence; empty: nothing.
func hookLacks(there []scm.Hook, r model.Repository) string {
	i := slices.IndexFunc(there, func(one scm.Hook) bool { return one.ID == r.HookID })
	if i < 0 {
		return "is not there any more"
	}
	switch one := there[i]; {
	case one.Off:
		return "is switched off"
	case r.HookAddress != "" && one.Address != r.HookAddress:
		return "tells another address, " + model.Line(one.Address)
	case one.Lacks != "":
		return "does not tell of " + one.Lacks
	}
	return ""
}
