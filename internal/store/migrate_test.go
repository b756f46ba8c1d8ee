package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/storetest"
)

// TestANewerSchemaIsRefused opens a database that a later version has migrated,
// with and without migrations of ours missing in it.
func TestANewerSchemaIsRefused(t *testing.T) {
	for _, engine := range storetest.Engines {
		for name, change := range map[string]string{
			"ahead":            `INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, TRUE)`,
			"ahead and behind": `UPDATE goose_db_version SET version_id = 9999 WHERE version_id = 3`,
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
