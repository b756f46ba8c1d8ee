package main

import (
	"fmt"

	"github.com/redoubt/redoubt/internal/store"
)

type migrateCmd struct {
	Distribute migrateDistributeCmd `cmd:"" help:"Spread the deployments over the nodes of a distributed PostgreSQL (Citus)."`
}

type migrateDistributeCmd struct {
	Print bool `help:"Print the statements, to be run once on the coordinator." required:""`
}

// Run prints the statements: it is for people to run them, with a backup at hand.
func (migrateDistributeCmd) Run(a *app) error {
	_, err := fmt.Fprint(a.out, store.Distribution())
	return err
}
