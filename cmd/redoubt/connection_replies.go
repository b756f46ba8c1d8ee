package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/hosts"
	"github.com/redoubt/redoubt/internal/store"
)

type connectionRepliesCmd struct {
	keeping
	ID int64 `arg:"" help:"The connection, by its id."`
	repliesChange
}

// repliesChange is what is to be another of whose replies decide.
type repliesChange struct {
	Of     string   `arg:"" optional:"" help:"Whose replies decide, of those who may write to the repository: linked (people linked to a user who may triage), collaborators (all others too) or off. Absent, it stays." enum:",linked,collaborators,off" default:""`
	Link   []string `help:"Who has a name at the host is this user, as octocat=ada. May be repeated." sep:"none" placeholder:"LOGIN=USER"`
	Unlink []string `help:"Forget who has a name at the host. May be repeated." sep:"none" placeholder:"LOGIN"`
}

// Run changes whose replies decide, and says who may.
func (c connectionRepliesCmd) Run(a *app) error {
	return c.run(a, func(k *hosts.Keeper, st *store.Store, d redoubt.Deployment) error {
		linked, err := redoubt.ParseHostPeople(c.Link)
		if err != nil {
			return err
		}
		now, err := k.ChangeReplies(a.ctx, d.ID, a.actor(), c.ID, func(of *redoubt.ReplyPolicy, people redoubt.HostPeople) {
			if policy, is := redoubt.ParseReplyPolicy(c.Of); is {
				*of = policy
			}
			for _, login := range c.Unlink {
				people.Remove(login)
			}
			maps.Copy(people, linked)
		})
		if err != nil {
			return unknownConnection(c.ID, err)
		}
		if _, err := fmt.Fprintf(a.out, "replies decide: %s\n", now.Replies); err != nil {
			return err
		}
		rows := make([][]string, 0, len(now.People))
		for _, login := range slices.Sorted(maps.Keys(now.People)) {
			rows = append(rows, []string{login, now.People[login].User})
		}
		return table(a.out, "LOGIN USER", rows)
	})
}
