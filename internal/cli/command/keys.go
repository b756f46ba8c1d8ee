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
var ErrKeyFile = errors.New("without the keys that this database was used with, secrets in reports would count as " +
	"new ones and lose their triage. " +
	"Copy the key file from the server that started first, or from the backup, or name it with --key-file. If redoubt " +
	"check finds the database whole and the file is lost for good, redoubt key new makes another")

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
		return keyring.Ring{}, fmt.Errorf("%w: what it tells of its keys has %d bytes", model.ErrDamaged, len(check))
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
		return ring, fmt.Errorf("there is no key file %s: %w", c.KeyPath(), ErrKeyFile)
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
	if ring.Fits(check) {
		return ring, nil
	}
	if made {
		return ring, fmt.Errorf("another server made the keys of this database while this one made %s: remove that file, "+
			"put the other's in its place, and start again", c.KeyPath())
	}
	return ring, fmt.Errorf("the key file %s is not the one of this database: %w", c.KeyPath(), ErrKeyFile)
}

// RefuseDevelopmentKeys returns an error if the database contains keys of a development version. A
// database that identifies its key file does not need them.
func RefuseDevelopmentKeys(a *App, st *store.Store, check []byte) error {
	if check != nil {
		return nil
	}
	held, err := StoredSetting(a, st, DevelopmentKey)
	if err != nil || held == nil {
		return err
	}
	return errors.New("this database holds keys of a development version from before the key file, " +
		"which are not transferred: build commit 381e0d74 and start it once with --key-file FILE, " +
		"which writes them to a file, and name that file here")
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
