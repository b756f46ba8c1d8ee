package main

import (
	"errors"
	"fmt"

	"github.com/redoubt/redoubt/internal/config"
)

type backupCmd struct {
	config.Storage
	File string `arg:"" help:"File to write; an existing file is not overwritten." type:"path"`
}

// Run copies the database.
func (c backupCmd) Run(a *app) error {
	st, err := a.open(c.Storage)
	if err != nil {
		return err
	}
	err = st.Backup(a.ctx, c.File)
	if err == nil {
		_, err = fmt.Fprintf(a.out, "copied everything to %s; to restore, put it into an empty data folder as redoubt.db\n", c.File)
	}
	return errors.Join(err, st.Close())
}
