package hosts

import (
	"context"
	"maps"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// Add creates a connection after its host was queried. Invalid input is a model.InvalidError.
func (k *Service) Add(ctx context.Context, deploymentID int64, by model.Actor, c model.Connection, credential model.HostCredential) (model.Connection, error) {
	save, err := k.PrepareAdd(ctx, c, credential)
	if err != nil {
		return c, err
	}
	return k.commit(ctx, deploymentID, by, save)
}

// Remove deletes a connection and its webhooks at the host.
func (k *Service) Remove(ctx context.Context, deploymentID int64, by model.Actor, id int64) error {
	save, err := k.PrepareRemove(ctx, deploymentID, id)
	if err != nil {
		return err
	}
	_, err = k.commit(ctx, deploymentID, by, save)
	return err
}

// CreateProjects creates projects for the repositories whose names match globs. It returns model.ErrNotFound
// if none matches.
func (k *Service) CreateProjects(ctx context.Context, deploymentID int64, by model.Actor, id int64, globs []string) (projects []model.Project, err error) {
	err = k.Store.Update(ctx, deploymentID, by, func(ctx context.Context, tx *store.Tx) error {
		projects, err = tx.FollowRepositories(ctx, id, globs)
		return err
	})
	return projects, err
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
	save, err := k.PrepareUpdate(ctx, deploymentID, id, model.ConnectionChange{Replies: &c.Replies, People: &people})
	if err != nil {
		return c, err
	}
	return k.commit(ctx, deploymentID, by, save)
}
