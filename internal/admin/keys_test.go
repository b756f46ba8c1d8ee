package admin

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/keyring"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// eachKeyed runs a test on a database of each engine, with a path for its key file.
func eachKeyed(t *testing.T, fn func(t *testing.T, a *command.App, c config.Storage, st *store.Store)) {
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			at := storetest.Database(t, engine, storetest.NewClock())
			a := &command.App{Ctx: t.Context(), Out: io.Discard, Err: io.Discard, Log: slog.New(slog.DiscardHandler), Clock: time.Now, Getenv: os.Getenv, Environ: os.Environ}
			c := config.Storage{Data: at.Dir, DatabaseURL: config.Secret(at.DatabaseURL), KeyFile: filepath.Join(t.TempDir(), "key")}
			fn(t, a, c, storetest.Open(t, at))
		})
	}
}

// TestDamageIsNotReportedAsKeyError checks that a damaged database is reported as damaged, whether the
// key check or other data is damaged.
func TestDamageIsNotReportedAsKeyError(t *testing.T) {
	eachKeyed(t, func(t *testing.T, a *command.App, c config.Storage, st *store.Store) {
		if _, err := command.OpenKeys(a, c, st); err != nil {
			t.Fatal(err)
		}
		if err := st.PutSetting(t.Context(), command.KeyCheck, []byte("half of i")); err != nil {
			t.Fatal(err)
		}
		if _, err := command.OpenKeys(a, c, st); !errors.Is(err, model.ErrDamaged) {
			t.Errorf("a check that is cut off: %v", err)
		}
	})

	at := storetest.Database(t, "sqlite", storetest.NewClock())
	a := &command.App{Ctx: t.Context(), Out: io.Discard, Err: io.Discard, Log: slog.New(slog.DiscardHandler), Clock: time.Now, Getenv: os.Getenv, Environ: os.Environ}
	c := config.Storage{Data: at.Dir, KeyFile: filepath.Join(t.TempDir(), "key")}
	st := storetest.Open(t, at)
	if _, err := command.OpenKeys(a, c, st); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(st.Close(), keyring.New(time.Now()).Replace(c.KeyPath()), scribble(at.Dir)); err != nil {
		t.Fatal(err)
	}
	if _, err := command.OpenKeys(a, c, storetest.Open(t, at)); !errors.Is(err, model.ErrDamaged) {
		t.Errorf("another key file, and a damaged database: %v", err)
	}
}

// scribble overwrites a part of the last page of the database file.
func scribble(dir string) error {
	file, err := os.OpenFile(filepath.Join(dir, store.FileName), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err == nil {
		_, err = file.WriteAt(bytes.Repeat([]byte{0xa5}, 100), info.Size()-4096)
	}
	return errors.Join(err, file.Close())
}

// TestKeyFileCorruptionIsReported checks that a changed bit in a key file is reported as damage
// of the file. Nothing else is changed: with the bit restored, the next start has the same keys.
func TestKeyFileCorruptionIsReported(t *testing.T) {
	eachKeyed(t, func(t *testing.T, a *command.App, c config.Storage, st *store.Store) {
		ring, err := command.OpenKeys(a, c, st)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(c.KeyPath())
		if err != nil {
			t.Fatal(err)
		}
		check, err := command.StoredSetting(a, st, command.KeyCheck)
		if err != nil {
			t.Fatal(err)
		}
		for _, member := range []string{`"secret": "`, `"key": "`} {
			at := bytes.Index(text, []byte(member)) + len(member)
			for flipped := byte('A'); ; flipped++ { // to another base64 character
				if flipped != text[at] {
					damaged := bytes.Clone(text)
					damaged[at] = flipped
					if err := os.WriteFile(c.KeyPath(), damaged, 0o600); err != nil {
						t.Fatal(err)
					}
					break
				}
			}
			_, err := command.OpenKeys(a, c, st)
			if err == nil || errors.Is(err, model.ErrDamaged) || !strings.Contains(err.Error(), c.KeyPath()+" is damaged") || !strings.Contains(err.Error(), "backup") {
				t.Errorf("a bit of %s: %v", member, err)
			}
		}
		if err := os.WriteFile(c.KeyPath(), text, 0o600); err != nil {
			t.Fatal(err)
		}
		reopened, err := command.OpenKeys(a, c, st)
		if err != nil || !bytes.Equal(reopened.Secret, ring.Secret) {
			t.Errorf("with the file as it was: %v", err)
		}
		if after, err := command.StoredSetting(a, st, command.KeyCheck); err != nil || !bytes.Equal(after, check) {
			t.Errorf("the database knows another file: %v", err)
		}
	})
}

// TestDevelopmentVersionKeysAreRejected checks that a database that contains keys accepts no
// other keys, neither new ones nor those of a file. Otherwise secrets would lose their triage.
func TestDevelopmentVersionKeysAreRejected(t *testing.T) {
	eachKeyed(t, func(t *testing.T, a *command.App, c config.Storage, st *store.Store) {
		if err := st.PutSetting(t.Context(), command.DevelopmentKey, bytes.Repeat([]byte("secret 8"), 4)); err != nil {
			t.Fatal(err)
		}
		refused := func(what string, err error) {
			t.Helper()
			if err == nil || !strings.Contains(err.Error(), "keys of a development version") {
				t.Errorf("%s: %v", what, err)
			}
			if check, err := command.StoredSetting(a, st, command.KeyCheck); err != nil || check != nil {
				t.Errorf("%s: the database knows the key file %x, %v", what, check, err)
			}
		}
		_, err := command.OpenKeys(a, c, st)
		refused("a start without a key file", err)
		refused("key new", keyNewCmd{Storage: c, Yes: true}.run(a, st))
		if _, err := os.Stat(c.KeyPath()); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the key file: %v", err)
		}
		if err := keyring.New(time.Now()).Create(c.KeyPath()); err != nil {
			t.Fatal(err)
		}
		_, err = command.OpenKeys(a, c, st)
		refused("a start with the key file of another database", err)
	})
}

// TestOtherKeysAreRefused checks that keys that would change the hashes of secrets are rejected.
func TestOtherKeysAreRefused(t *testing.T) {
	eachKeyed(t, func(t *testing.T, a *command.App, c config.Storage, st *store.Store) {
		refused := func(what, want string) {
			t.Helper()
			if _, err := command.OpenKeys(a, c, st); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if _, err := command.OpenKeys(a, c, st); err != nil {
			t.Fatal(err)
		}
		if err := keyring.New(time.Now()).Replace(c.KeyPath()); err != nil {
			t.Fatal(err)
		}
		refused("another file", "belongs to another database")
		if err := os.Remove(c.KeyPath()); err != nil {
			t.Fatal(err)
		}
		refused("no file", "not found")
	})
}
