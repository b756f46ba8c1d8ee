package hosts

import (
	"context"
	"maps"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// Add makes a connection, once the host has said who it is there and what it sees. What
// will not do is a model.InvalidError.
func (k *Service) Add(ctx context.Context, deploymentID int64, by model.Actor, c model.Connection, credential model.HostCredential) (model.Connection, error) {
	keep, err := k.PrepareAdd(ctx, c, credential)
	if err != nil {
		return c, err
	}
	return k.kept(ctx, deploymentID, by, keep)
}

// Remove forgets a connection. The host is asked to forget our webhooks first; where it
// cannot be, they are refused from then on.
func (k *Service) Remove(ctx context.Context, deploymentID int64, by model.Actor, id int64) error {
	keep, err := k.PrepareRemove(ctx, deploymentID, id)
	if err != nil {
		return err
	}
	_, err = k.kept(ctx, deploymentID, by, keep)
	return err
}

// Take makes projects of repositories that a connection sees, by globs of their names.
// None that fits is model.ErrNotFound.
func (k *Service) Take(ctx context.Context, deploymentID int64, by model.Actor, id int64, globs []string) (taken []model.Project, err error) {
	err = k.Store.Update(ctx, deploymentID, by, func(ctx context.Context, tx *store.Tx) error {
		taken, err = tx.FollowRepositories(ctx, id, globs)
		return err
	})
	return taken, err
}

// ChangeReplies changes whose replies decide at a connection, and who is linked there. The
// host is asked who those are that are linked anew.
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
	return k.kept(ctx, deploymentID, by, keep)
}
