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

// Limits of one verification of a connection's webhooks. Those verified the longest ago come first,
// so that all are verified in the long run.
const (
	maxLooked = 100
	lookFor   = 20 * time.Second
)

// verifyHooks checks that the webhooks we created still exist unchanged at the host. It stores
// problems for display and creates no webhooks. An error of one webhook does not stop the others.
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
	hostCtx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	for _, r := range list {
		err := k.verifyHook(hostCtx, deploymentID, h, r)
		if busy := (*model.BusyError)(nil); hostCtx.Err() != nil || errors.As(err, &busy) || unknownTo(err) {
			break
		}
		if err != nil {
			k.Logger.InfoContext(ctx, "webhook check failed", "repository", r.FullName, "cause", err)
		}
	}
	return ctx.Err()
}

// verifyHook verifies the webhook of one repository. If the host does not respond, the stored
// problem is unchanged.
func (k *Service) verifyHook(ctx context.Context, deploymentID int64, h scm.Host, r model.Repository) error {
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

// hookLacks describes the problem of a repository's webhook as the end of a sentence. It returns ""
// if there is none. The list hooks contains the webhooks at the host.
func hookLacks(hooks []scm.Hook, r model.Repository) string {
	i := slices.IndexFunc(hooks, func(one scm.Hook) bool { return one.ID == r.HookID })
	if i < 0 {
		return "no longer exists"
	}
	switch one := hooks[i]; {
	case one.Off:
		return "is disabled"
	case r.HookAddress != "" && one.Address != r.HookAddress:
		return "points to another address, " + model.Line(one.Address)
	case one.Lacks != "":
		return "does not send " + one.Lacks
	}
	return ""
}
