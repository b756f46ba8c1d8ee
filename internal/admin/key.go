package admin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/keyring"
	"github.com/redoubt/redoubt/internal/store"
)

// KeyCmd manages the key file.
type KeyCmd struct {
	Show   keyShowCmd   `cmd:"" help:"Show the key file's path and key dates, without keys."`
	Rotate keyRotateCmd `cmd:"" help:"Replace the signing key; signatures stay valid for seven days."`
	Use    keyUseCmd    `cmd:"" help:"Install a copy of the key file from another server."`
	New    keyNewCmd    `cmd:"" help:"Replace a lost key file; affects secrets and authenticator apps."`
}

type keyShowCmd struct{ config.Storage }

// Run prints the properties of the keys, but not the keys.
func (c keyShowCmd) Run(a *command.App) error {
	return withKeys(a, c.Storage, func(ring keyring.Ring) error {
		rows := [][]string{{"secrets", "-", "stays"}}
		for _, k := range ring.Signing {
			until := "in use"
			if !k.Until.IsZero() {
				until = "valid until " + command.Day(k.Until)
			}
			rows = append(rows, []string{"signing", command.Day(k.Made), until})
		}
		if _, err := fmt.Fprintln(a.Out, c.KeyPath()); err != nil {
			return err
		}
		return command.Table(a.Out, "KEY CREATED STATE", rows)
	})
}

// withKeys runs fn on the keys of a database.
func withKeys(a *command.App, c config.Storage, fn func(keyring.Ring) error) error {
	st, err := a.Open(c)
	if err != nil {
		return err
	}
	ring, err := command.OpenKeys(a, c, st)
	if err == nil {
		err = fn(ring)
	}
	return errors.Join(err, st.Close())
}

type keyRotateCmd struct{ config.Storage }

// Run replaces the signing key.
func (c keyRotateCmd) Run(a *command.App) error {
	return withKeys(a, c.Storage, func(ring keyring.Ring) error {
		if err := ring.Rotate(a.Clock()).Replace(c.KeyPath()); err != nil {
			return err
		}
		_, err := fmt.Fprintf(a.Out, "created a new signing key, which running servers load; existing signatures stay valid "+
			"until %s. Copy this file to servers on other machines: %s\n",
			command.Day(a.Clock().Add(keyring.SigningFor)), c.KeyPath())
		return err
	})
}

type keyUseCmd struct {
	config.Storage
	File string `arg:"" type:"existingfile" help:"Key file from another server of this database."`
}

// Run checks that a key file belongs to the database, and copies it to the configured path.
func (c keyUseCmd) Run(a *command.App) error {
	ring, err := keyring.Read(c.File)
	if err != nil {
		return err
	}
	st, err := a.Open(c.Storage)
	if err != nil {
		return err
	}
	return errors.Join(c.run(a, st, ring), st.Close())
}

func (c keyUseCmd) run(a *command.App, st *store.Store, ring keyring.Ring) error {
	check, err := command.StoredSetting(a, st, command.KeyCheck)
	switch {
	case err != nil:
		return err
	case check == nil:
		return errors.New("this database has no key file yet: the first server start creates one")
	case !ring.Matches(check):
		return fmt.Errorf("the key file %s belongs to another database: %w", c.File, command.ErrKeyFile)
	}
	err = ring.Replace(c.KeyPath())
	if errors.Is(err, fs.ErrNotExist) {
		err = ring.Create(c.KeyPath())
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Out, "installed the key file %s\n", c.KeyPath())
	return err
}

type keyNewCmd struct {
	config.Storage
	Yes bool `help:"Confirm that the key file is lost permanently."`
}

// Run creates a key file that replaces a lost one.
func (c keyNewCmd) Run(a *command.App) error {
	if !c.Yes {
		return errors.New("confirmation required: use --yes. Secrets found later count as new and lose their triage, " +
			"and users of authenticator apps need a recovery code or redoubt user reset-2fa")
	}
	st, err := a.Open(c.Storage)
	if err != nil {
		return err
	}
	return errors.Join(c.run(a, st), st.Close())
}

func (c keyNewCmd) run(a *command.App, st *store.Store) error {
	if _, err := os.Stat(c.KeyPath()); err == nil {
		return fmt.Errorf("the key file %s exists and may belong to another database: move it first", c.KeyPath())
	}
	check, err := command.StoredSetting(a, st, command.KeyCheck)
	if err != nil {
		return err
	}
	if err := command.RefuseDevelopmentKeys(a, st, check); err != nil {
		return err
	}
	ring := keyring.New(a.Clock())
	// The order matters: if the file cannot be created, the lost one still matches the database.
	if err := ring.Create(c.KeyPath()); err != nil {
		return err
	}
	if err := st.PutSetting(a.Ctx, command.KeyCheck, ring.Check()); err != nil {
		return errors.Join(err, os.Remove(c.KeyPath()))
	}
	_, err = fmt.Fprintf(a.Out, "created %s; copy it to every server that shares the database, and restart the servers\n",
		c.KeyPath())
	return err
}
