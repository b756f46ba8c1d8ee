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
	Show   keyShowCmd   `cmd:"" help:"Say where the key file is, and when its keys were made. No key is shown."`
	Rotate keyRotateCmd `cmd:"" help:"Have another key sign from now on. What was signed before holds for seven days. Servers that run notice it."`
	Use    keyUseCmd    `cmd:"" help:"Put a copy of the key file in its place, as on a second server of a PostgreSQL or after a rotation on another."`
	New    keyNewCmd    `cmd:"" help:"Make a key file for a database whose own is lost. Secrets found from then on are told apart anew, and codes of authenticator apps cannot be checked."`
}

type keyShowCmd struct{ config.Storage }

// Run prints the properties of the keys, but not the keys.
func (c keyShowCmd) Run(a *command.App) error {
	return withKeys(a, c.Storage, func(ring keyring.Ring) error {
		rows := [][]string{{"secrets", "-", "stays"}}
		for _, k := range ring.Signing {
			until := "in use"
			if !k.Until.IsZero() {
				until = "believed until " + command.Day(k.Until)
			}
			rows = append(rows, []string{"signing", command.Day(k.Made), until})
		}
		if _, err := fmt.Fprintln(a.Out, c.KeyPath()); err != nil {
			return err
		}
		return command.Table(a.Out, "KEY MADE STATE", rows)
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
		_, err := fmt.Fprintf(a.Out, "another key signs from now on, on servers that run too; what was signed before holds "+
			"until %s. Give every server on another machine this %s\n",
			command.Day(a.Clock().Add(keyring.SigningFor)), c.KeyPath())
		return err
	})
}

type keyUseCmd struct {
	config.Storage
	File string `arg:"" type:"existingfile" help:"Key file of the database, as a server on another machine has it."`
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
		return errors.New("this database knows no key file yet: the first start of a server makes one")
	case !ring.Fits(check):
		return fmt.Errorf("the key file %s is not the one of this database: %w", c.File, command.ErrKeyFile)
	}
	err = ring.Replace(c.KeyPath())
	if errors.Is(err, fs.ErrNotExist) {
		err = ring.Create(c.KeyPath())
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Out, "%s is the key file of this server now\n", c.KeyPath())
	return err
}

type keyNewCmd struct {
	config.Storage
	Yes bool `help:"Say that the key file is lost for good."`
}

// Run creates a key file that replaces a lost one.
func (c keyNewCmd) Run(a *command.App) error {
	if !c.Yes {
		return errors.New("secrets that scans find from now on would count as new ones, without their triage, and who has " +
			"an authenticator app would need a recovery code or redoubt user reset-2fa: redoubt key new --yes does " +
			"it all the same")
	}
	st, err := a.Open(c.Storage)
	if err != nil {
		return err
	}
	return errors.Join(c.run(a, st), st.Close())
}

func (c keyNewCmd) run(a *command.App, st *store.Store) error {
	if _, err := os.Stat(c.KeyPath()); err == nil {
		return fmt.Errorf("there is a key file %s: move it away first, it may belong to another database", c.KeyPath())
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
	_, err = fmt.Fprintf(a.Out, "made %s; give it to every server that shares the database, and start it anew\n",
		c.KeyPath())
	return err
}
