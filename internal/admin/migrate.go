package admin

import (
	"fmt"

	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/store"
)

// MigrateCmd copies the stored data to a database of another engine.
type MigrateCmd struct {
	Distribute migrateDistributeCmd `cmd:"" help:"Spread the deployments over the nodes of a distributed PostgreSQL (Citus)."`
}

type migrateDistributeCmd struct {
	Print bool `help:"Print the statements, to be run once on the coordinator." required:""`
}

// Run prints the statements: it is for people to run them, with a backup at hand.
func (migrateDistributeCmd) Run(a *command.App) error {
	_, err := fmt.Fprint(a.Out, store.Distribution())
	return err
}
