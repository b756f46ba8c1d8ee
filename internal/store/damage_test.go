package store_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestRowsThatCannotBeReadAreDamage changes stored values to invalid ones. Readers, readiness
// checks and later writes must report damage.
func TestRowsThatCannotBeReadAreDamage(t *testing.T) {
	feed := func(ctx context.Context, d tenant, _ int64) error {
		_, _, err := d.s.Feed(ctx, d.id, 0, oneByOne(func(*model.Batch) error { return nil }))
		return err
	}
	for name, c := range map[string]struct {
		change string
		read   func(ctx context.Context, d tenant, lineage int64) error
	}{
		"JSON": {`UPDATE lineage SET annotations_json = '{"epss_score*'`, func(ctx context.Context, d tenant, lineage int64) error {
			return d.s.View(ctx, d.id, func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.Lineages(ctx, []int64{lineage})
				return err
			})
		}},
		"JSON that an index is fed": {`UPDATE lineage SET annotations_json = '{"epss_score*'`, feed},
		"in a write": {`UPDATE lineage SET triaged_by_json = 'x'`, func(ctx context.Context, d tenant, lineage int64) error {
			return d.s.Update(ctx, d.id, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.Lineages(ctx, []int64{lineage})
				return err
			})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Each(t, func(t *testing.T, s *store.Store) {
				d := newTenant(t, s)
				lineage := d.findings(d.project("acme/one"), 2, nil)[0].LineageID
				if err := c.read(t.Context(), d, lineage); err != nil {
					t.Fatalf("as it was written: %v", err)
				}
				if err := s.ExecRaw(t.Context(), c.change); err != nil {
					t.Fatal(err)
				}
				fails(t, "reading", c.read(t.Context(), d, lineage), model.ErrDamaged)
				reads, writes := s.Health(t.Context())
				fails(t, "readiness", reads, model.ErrDamaged)
				fails(t, "readiness of writes", writes, model.ErrDamaged)
				fails(t, "a write", s.PutSetting(t.Context(), "x", nil), model.ErrDamaged)
			})
		})
	}
}

// TestOtherReadErrorsAreNotDamage checks that reads failing for other reasons do not report damage.
func TestOtherReadErrorsAreNotDamage(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		lineage := d.findings(d.project("acme/one"), 2, nil)[0].LineageID
		healthy := func(what string) {
			t.Helper()
			if reads, writes := s.Health(t.Context()); reads != nil || writes != nil {
				t.Errorf("after %s it is %v, %v", what, reads, writes)
			}
		}
		read := func(ctx context.Context) error {
			return s.View(ctx, d.id, func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.Lineages(ctx, []int64{lineage})
				return err
			})
		}
		gone, cancel := context.WithCancel(t.Context())
		err := s.View(gone, d.id, func(ctx context.Context, tx *store.Tx) error {
			cancel()
			_, err := tx.Lineages(ctx, []int64{lineage})
			return err
		})
		if err == nil || errors.Is(err, model.ErrDamaged) {
			t.Errorf("after a hangup the error is %v", err)
		}
		healthy("a caller who hung up")

		// A newer program has just migrated the database and written its own format.
		for _, query := range []string{
			`INSERT INTO goose_db_version (version_id, is_applied) SELECT 9999, is_applied FROM goose_db_version WHERE version_id = 82`,
			`UPDATE lineage SET annotations_json = '2:{}'`,
		} {
			if err := s.ExecRaw(t.Context(), query); err != nil {
				t.Fatal(err)
			}
		}
		if err := read(t.Context()); !errors.Is(err, model.ErrReplaced) || errors.Is(err, model.ErrDamaged) {
			t.Errorf("what a newer program wrote is %v", err)
		}
		for _, query := range []string{`DELETE FROM goose_db_version WHERE version_id = 9999`, `UPDATE lineage SET annotations_json = '{}'`} {
			if err := s.ExecRaw(t.Context(), query); err != nil {
				t.Fatal(err)
			}
		}
		healthy("the newer program has gone again")
		if err := read(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestColumnMismatchIsNotDamage scans more columns than a statement returns.
func TestColumnMismatchIsNotDamage(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		err := s.ScanTwo(t.Context(), `SELECT 1`)
		if reads, writes := s.Health(t.Context()); err == nil || errors.Is(err, model.ErrDamaged) || reads != nil || writes != nil {
			t.Errorf("the error is %v, and the database is %v and %v", err, reads, writes)
		}
	})
}

// TestMissingIndexRowIsDetected changes a name in a table but not in its index, so that each page
// is valid by itself.
func TestMissingIndexRowIsDetected(t *testing.T) {
	config := storetest.Database(t, "sqlite", storetest.NewClock())
	s := storetest.Open(t, config)
	d := newTenant(t, s)
	d.project("acme/index")
	var page int64
	err := s.DB().QueryRowContext(t.Context(), `SELECT rootpage FROM sqlite_schema WHERE name = 'project'`).Scan(&page)
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(config.Dir, store.FileName)
	file, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(file[(page-1)*4096:page*4096], []byte("acme/index"))
	if at < 0 {
		t.Fatal("the page of the table does not hold the name")
	}
	file[(page-1)*4096+int64(at)] ^= 1
	if err := os.WriteFile(name, file, 0o600); err != nil {
		t.Fatal(err)
	}
	s = storetest.Open(t, config)
	fails(t, "the look through the file", s.CheckFile(t.Context()), model.ErrDamaged)
	reads, _ := s.Health(t.Context())
	fails(t, "readiness", reads, model.ErrDamaged)
}

// TestInvalidSchemaVersionIsReported opens a database whose schema version is not a number.
func TestInvalidSchemaVersionIsReported(t *testing.T) {
	config := storetest.Database(t, "sqlite", storetest.NewClock())
	s := storetest.Open(t, config)
	if err := s.ExecRaw(t.Context(), `UPDATE goose_db_version SET version_id = 'another page'`); err != nil {
		t.Fatal(err)
	}
	reads, _ := s.Health(t.Context())
	fails(t, "readiness", reads, model.ErrDamaged)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := store.Open(t.Context(), config)
	fails(t, "opening it", err, model.ErrDamaged)
}
