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
	WithKeys bool   `help:"Also copy the key file to FILE.key, a secret."`
	File     string `arg:"" help:"Output file; existing files are not overwritten." type:"path"`
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
	fmt.Fprintf(a.Out, "copied the data to %s; to restore, copy it to redoubt.db in an empty data folder. The "+
		"server recreates the folder index\n", c.File)
	if !c.WithKeys {
		if lost != nil {
			_, err = fmt.Fprintf(a.Out, "The backup does not contain the keys, because they were not found: %v\n", lost)
			return err
		}
		_, err = fmt.Fprintf(a.Out, "The backup does not contain the keys: also back up %s, or use --with-keys. The copy "+
			"does not start without it\n", c.KeyPath())
		return err
	}
	keys := c.File + ".key"
	if err := ring.Create(keys); err != nil {
		return fmt.Errorf("the data was copied, but the keys were not copied to %s: %w", keys, err)
	}
	_, err = fmt.Fprintf(a.Out, "copied the keys to %s; to restore, copy it to redoubt.db.key next to redoubt.db\n", keys)
	return err
}
