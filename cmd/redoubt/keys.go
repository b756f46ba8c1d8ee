package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/keyring"
	"github.com/redoubt/redoubt/internal/store"
)

// What a database tells of keys. Those of versions before the key file are moved
// to it; a check stays, which tells which key file is the database's.
const (
	signingKey = "signing key"
	secretKey  = "secret key"
	keyCheck   = "key check"
)

// errKeyFile is the ground of what is said where file and database do not fit.
var errKeyFile = errors.New("without the keys that this database was used with, secrets in reports would count as new ones and lose their triage. " +
	"Copy the key file from the server that started first, or from the backup, or name it with --key-file. If redoubt check finds the database whole and the file is lost for good, redoubt key new makes another")

// keys reads the key file of a database. It makes one for a new database, and for
// one of an older version, whose keys it takes out of the database. A crash at any
// moment is made good by the next start. Where the two do not fit, the database may be
// what is damaged, and that is said instead.
func (a *app) keys(c config.Storage, st *store.Store) (keyring.Ring, error) {
	ring, err := a.fittingKeys(c, st)
	if err == nil || errors.Is(err, redoubt.ErrUnavailable) {
		return ring, err
	}
	ctx, cancel := context.WithTimeout(a.ctx, fileLookMost)
	defer cancel()
	if damage := st.CheckFile(ctx); errors.Is(damage, redoubt.ErrDamaged) {
		return ring, damage
	}
	return ring, err
}

func (a *app) fittingKeys(c config.Storage, st *store.Store) (keyring.Ring, error) {
	check, err := a.setting(st, keyCheck)
	if err != nil {
		return keyring.Ring{}, err
	}
	if check != nil && len(check) != len(keyring.Ring{}.Check()) {
		return keyring.Ring{}, fmt.Errorf("%w: what it tells of its keys has %d bytes", redoubt.ErrDamaged, len(check))
	}
	ring, err := keyring.Read(c.KeyPath())
	made := false
	switch {
	case err == nil:
	case !errors.Is(err, fs.ErrNotExist):
		return ring, err
	case check != nil:
		return ring, fmt.Errorf("there is no key file %s: %w", c.KeyPath(), errKeyFile)
	case c.DatabaseURL != "" && c.KeyFile == "":
		if ring, held, err := a.heldKeys(st); held || err != nil {
			return ring, err
		}
		fallthrough
	default:
		if ring, made, err = a.makeKeys(c, st); err != nil {
			return ring, err
		}
	}
	if check == nil {
		if check, err = a.bindKeys(c, st, ring); err != nil {
			return ring, err
		}
	}
	if ring.Fits(check) {
		return ring, nil
	}
	if made {
		return ring, fmt.Errorf("another server made the keys of this database while this one made %s: remove that file, put the other's in its place, and start again", c.KeyPath())
	}
	return ring, fmt.Errorf("the key file %s is not the one of this database: %w", c.KeyPath(), errKeyFile)
}

// heldKeys are the keys that an older version left in PostgreSQL. They stay there
// until a key file is named: the data folder may be gone with its container, and it
// would hold the only copy.
func (a *app) heldKeys(st *store.Store) (ring keyring.Ring, has bool, err error) {
	held, err := st.StoredSettings(a.ctx, secretKey, signingKey)
	if err != nil || held[secretKey] == nil {
		return ring, false, err
	}
	fmt.Fprintf(a.err, "the keys of this database still lie in it, and in its backups. To move them, name a place that lasts and that every server has: --key-file FILE\n")
	return keyring.New(held[secretKey], held[signingKey], a.clock()), true, nil
}

// makeKeys writes the first key file: with the keys in the database, if it has any.
func (a *app) makeKeys(c config.Storage, st *store.Store) (ring keyring.Ring, made bool, err error) {
	held, err := st.StoredSettings(a.ctx, secretKey, signingKey) // at once: another start may be moving them
	if err != nil {
		return ring, false, err
	}
	ring = keyring.New(held[secretKey], held[signingKey], a.clock())
	err = ring.Create(c.KeyPath())
	if errors.Is(err, fs.ErrExist) { // somebody else started, too
		ring, err = keyring.Read(c.KeyPath())
		return ring, false, err
	}
	return ring, err == nil, err
}

// bindKeys has the database know its key file, and takes out of it what is in the
// file by now. A file that does not hold what the database does is not its file.
func (a *app) bindKeys(c config.Storage, st *store.Store, ring keyring.Ring) ([]byte, error) {
	secret, err := a.setting(st, secretKey)
	if err != nil {
		return nil, err
	}
	if secret != nil && !bytes.Equal(secret, ring.Secret) {
		return nil, fmt.Errorf("the key file %s is not the one of this database, which has keys of its own: move the file away, or name another one with --key-file", c.KeyPath())
	}
	return st.PinSetting(a.ctx, keyCheck, ring.Check(), secretKey, signingKey)
}

// setting reads a setting; one that is not there is nil.
func (a *app) setting(st *store.Store, name string) ([]byte, error) {
	value, err := st.StoredSetting(a.ctx, name)
	if errors.Is(err, redoubt.ErrNotFound) {
		return nil, nil
	}
	return value, err
}
