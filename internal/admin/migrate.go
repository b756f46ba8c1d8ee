package admin

import (
	"fmt"

	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/store"
)

// MigrateCmd contains commands for moving the stored data.
type MigrateCmd struct {
	Distribute migrateDistributeCmd `cmd:"" help:"Distribute deployments over the nodes of PostgreSQL with Citus."`
}

type migrateDistributeCmd struct {
	Print bool `help:"Print the SQL statements to run once on the coordinator." required:""`
}

// Run prints the statements. An administrator runs them, with a backup at hand.
func (migrateDistributeCmd) Run(a *command.App) error {
	_, err := fmt.Fprint(a.Out, store.Distribution())
	return err
}
