package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/keyring"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// KeyCheck is the setting that identifies the key file of a database.
const KeyCheck = "key check"

// DevelopmentKey is the setting in which early development versions stored their key, before the
// key file existed.
const DevelopmentKey = "secret key"

// ErrKeyFile is wrapped by errors about a key file that does not match the database.
var ErrKeyFile = errors.New("without the original keys of this database, secrets in reports would count as new " +
	"and lose their triage. " +
	"Copy the key file from the first server or from the backup, or set its path with --key-file. If the file is " +
	"lost permanently and redoubt check finds no damage, replace it with redoubt key new")

// OpenKeys reads the key file of a database, and creates one for a new database. If a crash
// interrupts the creation, the next start completes it. If the files do not match and the database
// is damaged, the error describes the damage.
func OpenKeys(a *App, c config.Storage, st *store.Store) (keyring.Ring, error) {
	ring, err := fittingKeys(a, c, st)
	if err == nil || errors.Is(err, model.ErrUnavailable) {
		return ring, err
	}
	ctx, cancel := context.WithTimeout(a.Ctx, FileCheckTimeout)
	defer cancel()
	if damage := st.CheckFile(ctx); errors.Is(damage, model.ErrDamaged) {
		return ring, damage
	}
	return ring, err
}

func fittingKeys(a *App, c config.Storage, st *store.Store) (keyring.Ring, error) {
	check, err := StoredSetting(a, st, KeyCheck)
	if err != nil {
		return keyring.Ring{}, err
	}
	if check != nil && len(check) != len(keyring.Ring{}.Check()) {
		return keyring.Ring{}, fmt.Errorf("%w: the stored key check has %d bytes", model.ErrDamaged, len(check))
	}
	if err := RefuseDevelopmentKeys(a, st, check); err != nil {
		return keyring.Ring{}, err
	}
	ring, err := keyring.Read(c.KeyPath())
	made := false
	switch {
	case err == nil:
	case !errors.Is(err, fs.ErrNotExist):
		return ring, err
	case check != nil:
		return ring, fmt.Errorf("key file %s not found: %w", c.KeyPath(), ErrKeyFile)
	default:
		if ring, made, err = makeKeys(a, c); err != nil {
			return ring, err
		}
	}
	if check == nil {
		if check, err = st.PinSetting(a.Ctx, KeyCheck, ring.Check()); err != nil {
			return ring, err
		}
	}
	if ring.Matches(check) {
		return ring, nil
	}
	if made {
		return ring, fmt.Errorf("another server created the keys of this database while this server created %s: "+
			"replace that file with the other server's key file, and restart", c.KeyPath())
	}
	return ring, fmt.Errorf("the key file %s belongs to another database: %w", c.KeyPath(), ErrKeyFile)
}

// RefuseDevelopmentKeys returns an error if the database contains keys of a development version. A
// database that identifies its key file does not need them.
func RefuseDevelopmentKeys(a *App, st *store.Store, check []byte) error {
	if check != nil {
		return nil
	}
	stored, err := StoredSetting(a, st, DevelopmentKey)
	if err != nil || stored == nil {
		return err
	}
	return errors.New("this database contains keys of a development version without a key file, " +
		"which are not migrated: build commit 381e0d74, start it once with --key-file FILE, " +
		"which writes the keys to that file, and use that file here")
}

// makeKeys creates the first key file.
func makeKeys(a *App, c config.Storage) (ring keyring.Ring, made bool, err error) {
	ring = keyring.New(a.Clock())
	err = ring.Create(c.KeyPath())
	if errors.Is(err, fs.ErrExist) { // another process created it
		ring, err = keyring.Read(c.KeyPath())
		return ring, false, err
	}
	return ring, err == nil, err
}

// StoredSetting returns a setting, or nil if it is not set.
func StoredSetting(a *App, st *store.Store, name string) ([]byte, error) {
	value, err := st.StoredSetting(a.Ctx, name)
	if errors.Is(err, model.ErrNotFound) {
		return nil, nil
	}
	return value, err
}

// FileCheckTimeout limits the check of the database while the server is running.
const FileCheckTimeout = time.Minute
