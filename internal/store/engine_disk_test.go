package store_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// large writes more than the remaining space.
func large(t *testing.T, s *store.Store, d model.Deployment) error {
	t.Helper()
	return s.Update(t.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		return tx.Insert(ctx, aliasColumns, [][]any{{strings.Repeat("x", 4<<20), 1}}, "ON CONFLICT DO NOTHING")
	})
}

// readsOnly checks that reads succeed and that writes fail with model.ErrDiskFull.
func readsOnly(t *testing.T, s *store.Store, d model.Deployment) {
	t.Helper()
	fails(t, "a write", large(t, s, d), model.ErrDiskFull)
	view(t, s, d, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.ProjectByName(ctx, "acme/small")
		return err
	})
	reads, writes := s.Health(t.Context())
	if reads != nil {
		t.Errorf("reading is %v", reads)
	}
	if writes != nil {
		fails(t, "writing", writes, model.ErrDiskFull)
	}
}

func small(t *testing.T, s *store.Store) model.Deployment {
	t.Helper()
	d := storetest.Deployment(t, s)
	update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.CreateProject(ctx, model.Project{Name: "acme/small"})
		return err
	})
	return d
}

// TestFullDatabaseAllowsReads fills the database by a page limit, which also fails the health probe, and
// then removes the limit.
func TestFullDatabaseAllowsReads(t *testing.T) {
	s := storetest.New(t, "sqlite")
	d := small(t, s)
	// SQLite raises it to the current number of pages
	if err := s.ExecRaw(t.Context(), `PRAGMA max_page_count = 1`); err != nil {
		t.Fatal(err)
	}
	readsOnly(t, s, d)
	if err := s.ExecRaw(t.Context(), `PRAGMA max_page_count = 1000000`); err != nil {
		t.Fatal(err)
	}
	if reads, writes := s.Health(t.Context()); reads != nil || writes != nil {
		t.Errorf("with room again it is %v, %v", reads, writes)
	}
	if err := large(t, s, d); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

// TestDamagedFileIsReported overwrites pages of a file. The damage must be detected and reported, and
// later writes must fail.
func TestDamagedFileIsReported(t *testing.T) {
	config := storetest.Database(t, "sqlite", storetest.NewClock())
	s := storetest.Open(t, config)
	d := small(t, s)
	if err := s.CheckFile(t.Context()); err != nil {
		t.Errorf("a whole file is %v", err)
	}
	var page int
	if err := s.DB().QueryRowContext(t.Context(), `SELECT rootpage FROM sqlite_schema WHERE name = 'finding'`).Scan(&page); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	damage(t, config.Dir, page)
	s = storetest.Open(t, config)
	fails(t, "the check", s.CheckFile(t.Context()), model.ErrDamaged)
	fails(t, "a write", large(t, s, d), model.ErrDamaged)
	reads, writes := s.Health(t.Context())
	fails(t, "reading", reads, model.ErrDamaged)
	fails(t, "writing", writes, model.ErrDamaged)
}

// damage overwrites the header of a page of the file.
func damage(t *testing.T, dir string, page int) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, store.FileName), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte(strings.Repeat("\xa5", 64)), int64(page-1)*4096); err != nil {
		t.Fatal(err)
	}
}

// TestConnectToDeletedFile opens connections to a deleted file.
func TestConnectToDeletedFile(t *testing.T) {
	config := storetest.Database(t, "sqlite", storetest.NewClock())
	s := storetest.Open(t, config)
	d := small(t, s)
	if err := os.RemoveAll(config.Dir); err != nil {
		t.Fatal(err)
	}
	var err error
	var nested func(ctx context.Context, deep int) error
	nested = func(ctx context.Context, deep int) error { // each uses a separate connection
		if deep == 3 {
			return nil
		}
		return s.View(ctx, d.ID, func(ctx context.Context, _ *store.Tx) error { return nested(ctx, deep+1) })
	}
	err = nested(t.Context(), 0)
	fails(t, "reading", err, model.ErrOutOfFiles)
}

// TestOpenNonDatabaseFile opens a file that is not a database.
func TestOpenNonDatabaseFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, store.FileName), []byte(fmt.Sprintf("%4096s", "this is a letter")), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := store.Open(t.Context(), store.Config{Dir: dir, Clock: storetest.NewClock().Now})
	fails(t, "opening it", err, model.ErrDamaged)
}

// TestWorldReadableFileIsLogged checks that a warning is logged if all users of the machine can read the
// database file.
func TestWorldReadableFileIsLogged(t *testing.T) {
	var log bytes.Buffer
	config := store.Config{Dir: t.TempDir(), Clock: storetest.NewClock().Now, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))}
	file := filepath.Join(config.Dir, store.FileName)
	for _, mode := range []os.FileMode{0o600, 0o644} {
		log.Reset()
		if s, err := store.Open(t.Context(), config); err != nil || s.Close() != nil {
			t.Fatal(err)
		}
		if named := strings.Contains(log.String(), file); named != (mode == 0o644) {
			t.Errorf("a file of mode %o is named: %v\n%s", mode, named, &log)
		}
		if err := os.Chmod(file, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
