package admin

import (
	"errors"
	"fmt"

	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/store"
)

// BackupCmd copies the database.
type BackupCmd struct {
	config.Storage
	WithKeys bool   `help:"Copy the key file, too, to FILE.key. Keep it as a secret."`
	File     string `arg:"" help:"File to write; an existing file is not overwritten." type:"path"`
}

// Run copies the database.
func (c BackupCmd) Run(a *command.App) error {
	st, err := a.Open(c.Storage)
	if err != nil {
		return err
	}
	return errors.Join(c.run(a, st), st.Close())
}

func (c BackupCmd) run(a *command.App, st *store.Store) error {
	ring, err := command.OpenKeys(a, c.Storage, st)
	if err != nil && (c.WithKeys || !errors.Is(err, command.ErrKeyFile)) {
		return err
	}
	lost := err
	if err := st.Backup(a.Ctx, c.File); err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "copied everything to %s; to restore, put it into an empty data folder as redoubt.db. The folder "+
		"index is not needed: it is made again\n", c.File)
	if !c.WithKeys {
		if lost != nil {
			_, err = fmt.Fprintf(a.Out, "The keys are not in it, and were not found: %v\n", lost)
			return err
		}
		_, err = fmt.Fprintf(a.Out, "The keys are not in it: keep %s, too, or take it along with --with-keys. The copy "+
			"does not start without it\n", c.KeyPath())
		return err
	}
	keys := c.File + ".key"
	if err := ring.Create(keys); err != nil {
		return fmt.Errorf("the data is copied, the keys are not, to %s: %w", keys, err)
	}
	_, err = fmt.Fprintf(a.Out, "copied the keys to %s; to restore, put it beside redoubt.db as redoubt.db.key\n", keys)
	return err
}
