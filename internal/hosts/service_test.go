package hosts

import (
	"context"
	"maps"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// Add creates a connection after its host was queried. Invalid input is a model.InvalidError.
func (k *Service) Add(ctx context.Context, deploymentID int64, by model.Actor, c model.Connection, credential model.HostCredential) (model.Connection, error) {
	keep, err := k.PrepareAdd(ctx, c, credential)
	if err != nil {
		return c, err
	}
	return k.commit(ctx, deploymentID, by, keep)
}

// Remove deletes a connection and its webhooks at the host.
func (k *Service) Remove(ctx context.Context, deploymentID int64, by model.Actor, id int64) error {
	keep, err := k.PrepareRemove(ctx, deploymentID, id)
	if err != nil {
		return err
	}
	_, err = k.commit(ctx, deploymentID, by, keep)
	return err
}

// Take creates projects for the repositories whose names match globs. It returns model.ErrNotFound
// if none matches.
func (k *Service) Take(ctx context.Context, deploymentID int64, by model.Actor, id int64, globs []string) (taken []model.Project, err error) {
	err = k.Store.Update(ctx, deploymentID, by, func(ctx context.Context, tx *store.Tx) error {
		taken, err = tx.FollowRepositories(ctx, id, globs)
		return err
	})
	return taken, err
}

// ChangeReplies changes the reply policy and the linked people of a connection. The host is queried
// for newly linked people.
func (k *Service) ChangeReplies(ctx context.Context, deploymentID int64, by model.Actor, id int64, change func(*model.ReplyPolicy, model.HostPeople)) (model.Connection, error) {
	c, err := k.connection(ctx, deploymentID, id)
	if err != nil {
		return c, err
	}
	people := maps.Clone(c.People)
	change(&c.Replies, people)
	keep, err := k.PrepareUpdate(ctx, deploymentID, id, model.ConnectionChange{Replies: &c.Replies, People: &people})
	if err != nil {
		return c, err
	}
	return k.commit(ctx, deploymentID, by, keep)
}
