package hosts

import (
	"context"
	"errors"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/scm"
)

// link queries the host for the ids of newly linked logins. The id is authoritative, because a
// login may later belong to another person. Existing links are unchanged; without new links the
// host is not queried. Invalid logins are a model.InvalidError.
func (k *Service) link(
	ctx context.Context, open func() (scm.Host, error), before model.HostPeople, c model.Connection,
) (model.HostPeople, error) {
	all, fresh := c.People.Since(before)
	if len(fresh) == 0 || !c.Kind.HasWebhooks() { // other kinds have no replies
		return all, nil
	}
	if len(fresh) > model.MaxNewHostPeople {
		return nil, model.Invalid("people", "at most %d new people can be linked at a time: the host looks up each of them",
			model.MaxNewHostPeople)
	}
	h, err := open()
	if err != nil {
		return nil, err
	}
	for _, login := range fresh {
		of, err := h.User(ctx, login)
		if errors.Is(err, model.ErrNotFound) || err == nil && (of.ID == "" || !strings.EqualFold(of.Login, login)) {
			return nil, model.Invalid("people", "the host has no user %.100q", login)
		}
		if err != nil && ctx.Err() == nil {
			err = model.Invalid("people", "the host did not return the user %.100q: %s", login, err)
		}
		if err != nil {
			return nil, err
		}
		all[login] = model.HostPerson{User: all[login].User, ID: of.ID}
	}
	return all, nil
}
