package storetest

import (
	"database/sql"
	"testing"

	"github.com/redoubt/redoubt/internal/store"
)

// OpenTransactions returns the number of transactions that prevent the removal of old rows. For
// SQLite it is 1 if there are any.
func OpenTransactions(t testing.TB, c store.Config) (n int) {
	t.Helper()
	driver, source, query := "sqlite", "file:"+c.Dir+"/"+store.FileName, `PRAGMA wal_checkpoint(TRUNCATE)`
	if c.DatabaseURL != "" {
		driver, source = "pgx", c.DatabaseURL
		query = `SELECT COUNT(*), 0, 0 FROM pg_stat_activity WHERE datname = current_database() AND xact_start IS NOT NULL ` +
			`AND pid <> pg_backend_pid()`
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var log, done int
	if err := db.QueryRowContext(t.Context(), query).Scan(&n, &log, &done); err != nil {
		t.Fatal(err)
	}
	return n
}
