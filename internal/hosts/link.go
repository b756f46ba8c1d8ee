package hosts

import (
	"context"
	"errors"
	"strings"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/scm"
)

// link asks a host who has the names that a connection links anew: what decides later is its
// id of them, as a name may be another's by then. Links that were there stay as they are, and
// where nothing is new the host is not asked. What will not do is a redoubt.InvalidError.
func (k *Keeper) link(ctx context.Context, open func() (scm.Host, error), before redoubt.HostPeople, c redoubt.Connection) (redoubt.HostPeople, error) {
	all, fresh := c.People.Since(before)
	if len(fresh) == 0 || !c.Kind.HasWebhooks() { // nobody replies at the others
		return all, nil
	}
	if len(fresh) > redoubt.MaxNewHostPeople {
		return nil, redoubt.Invalid("people", "%d people can be linked at a time: the host is asked who each is", redoubt.MaxNewHostPeople)
	}
	h, err := open()
	if err != nil {
		return nil, err
	}
	for _, login := range fresh {
		of, err := h.User(ctx, login)
		if errors.Is(err, redoubt.ErrNotFound) || err == nil && (of.ID == "" || !strings.EqualFold(of.Login, login)) {
			return nil, redoubt.Invalid("people", "nobody at the host is called %.100q", login)
		}
		if err != nil && ctx.Err() == nil {
			err = redoubt.Invalid("people", "the host does not say who %.100q is: %s", login, err)
		}
		if err != nil {
			return nil, err
		}
		all[login] = redoubt.HostPerson{User: all[login].User, ID: of.ID}
	}
	return all, nil
}
