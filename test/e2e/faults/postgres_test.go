//go:build faults && linux

package faults

import (
	"database/sql"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/admin"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestFaultsPostgresDamaged damages a table or an index of PostgreSQL, and checks that redoubt
// check reports it.
func TestFaultsPostgresDamaged(t *testing.T) {
	for relation, check := range map[string]string{
		"finding_body": "rows of finding_body", "kept_answer": "rows of kept_answer", "finding_pkey": "index finding_pkey", "lineage_identity_pkey": "index lineage_identity_pkey",
	} {
		t.Run(relation, func(t *testing.T) {
			database := storetest.Empty(t, "postgres")
			f := newFaulty(t, config.Storage{Data: t.TempDir(), DatabaseURL: config.Secret(database.DatabaseURL)})
			f.start()
			f.importThree(t.Context(), "damaged")
			f.create(t.Context(), "damaged") // with an idempotency key, so that the response is stored
			f.kill()
			extend(t, database)
			f.checkStored()
			storetest.DamagePostgres(t, database, relation)
			a := &command.App{Ctx: t.Context(), Out: io.Discard, Err: io.Discard, Clock: time.Now, Log: slog.New(slog.DiscardHandler), Getenv: os.Getenv, Environ: os.Environ}
			report := admin.NewCheckReport(a, true)
			err := (admin.CheckCmd{Storage: f.storage}).Check(a, report)
			for _, c := range report.Checks {
				if c.Check == check && len(c.Faults) > 0 && strings.Contains(strings.Join(c.Faults, " "), "invalid page") {
					return
				}
			}
			t.Errorf("redoubt check does not name what is damaged: %v, %+v", err, report.Checks)
		})
	}
}

// extend installs the extension that checks indexes.
func extend(t *testing.T, c store.Config) {
	t.Helper()
	db, err := sql.Open("pgx", c.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), `CREATE EXTENSION amcheck`); err != nil {
		t.Skipf("PostgreSQL's extension amcheck is not installed: %v", err)
	}
}
