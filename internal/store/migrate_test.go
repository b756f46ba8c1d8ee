package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestNewerSchemaIsRejected opens a database that a later version has migrated, with and without
// missing migrations of this version.
func TestNewerSchemaIsRejected(t *testing.T) {
	for _, engine := range storetest.Engines {
		for name, change := range map[string]string{
			"ahead":            `INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, TRUE)`,
			"ahead and behind": `UPDATE goose_db_version SET version_id = 9999 WHERE version_id = 82`,
		} {
			t.Run(engine+" "+name, func(t *testing.T) {
				config := storetest.Database(t, engine, storetest.NewClock())
				s := storetest.Open(t, config)
				if err := s.ExecRaw(t.Context(), change); err != nil {
					t.Fatal(err)
				}
				_, err := store.Open(t.Context(), config)
				var newer *store.NewerSchemaError
				if !errors.As(err, &newer) || newer.Stored != 9999 || newer.Known < 26 || newer.Known >= 9999 {
					t.Fatalf("a schema that is ahead opens with %v", err)
				}
				for _, word := range []string{"schema 9999", fmt.Sprint("up to ", newer.Known), "backup"} {
					if !strings.Contains(err.Error(), word) {
						t.Errorf("%q is not in: %v", word, err)
					}
				}
			})
		}
	}
}

// TestRunningServerRejectsNewerSchema migrates the database of a running server to a newer version. Reads and
// writes must fail until the schema is back at a known version.
func TestRunningServerRejectsNewerSchema(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		write := func() error {
			return s.Update(t.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
				return tx.PutSetting(ctx, "replaced", []byte("x"))
			})
		}
		for _, step := range []struct {
			change string
			want   error
		}{
			{`INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, TRUE)`, model.ErrReplaced},
			{`DELETE FROM goose_db_version WHERE version_id = 9999`, nil},
		} {
			if err := s.ExecRaw(t.Context(), step.change); err != nil {
				t.Fatal(err)
			}
			_, read := s.Deployment(t.Context(), "acme")
			if step.want == nil {
				fails(t, "a read before anybody looked", read, model.ErrUnavailable)
			}
			fails(t, "the look", s.CheckSchema(t.Context()), step.want)
			_, read = s.Deployment(t.Context(), "acme")
			fails(t, "a read", read, step.want)
			fails(t, "a write", write(), step.want)
			reads, _ := s.Health(t.Context())
			fails(t, "its health", reads, step.want)
		}
	})
}

// TestSchemaOlderThanBaselineIsRejected opens a database older than the baseline, which must stay unchanged.
func TestSchemaOlderThanBaselineIsRejected(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			config := storetest.Database(t, engine, storetest.NewClock())
			s := storetest.Open(t, config)
			for _, query := range []string{`DELETE FROM goose_db_version WHERE version_id > 0`, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (1, TRUE), (81, TRUE)`} {
				if err := s.ExecRaw(t.Context(), query); err != nil {
					t.Fatal(err)
				}
			}
			before := lines(t, s, dumps[engine])
			_, err := store.Open(t.Context(), config)
			var older *store.OlderSchemaError
			if !errors.As(err, &older) || older.Stored != 81 {
				t.Fatalf("a schema from before the baseline opens with %v", err)
			}
			same(t, "the schema", lines(t, s, dumps[engine]), before)
		})
	}
}

// TestBaselineDatabaseIsUpgraded migrates a baseline database. The schema must equal the one
// in testdata, and the checks must find no faults in new rows.
func TestBaselineDatabaseIsUpgraded(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			config := storetest.Database(t, engine, storetest.NewClock())
			if err := store.MakeBaseline(t.Context(), config); err != nil {
				t.Fatal(err)
			}
			s := storetest.Open(t, config)
			want, err := os.ReadFile(filepath.Join("testdata", "schema."+engine+".sql"))
			if err != nil {
				t.Fatal(err)
			}
			same(t, "the schema", strings.Join(lines(t, s, dumps[engine]), "\n")+"\n", string(want))
			d := newTenant(t, s)
			d.findings(d.project("acme/payments"), 2, nil)
			if faults, _ := checked(t, s, d); faults != "" {
				t.Error(faults)
			}
		})
	}
}
