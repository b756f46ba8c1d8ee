package conformance

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/redoubt/redoubt/internal/store"
)

// without renames a table while do runs, so that operations that need it fail as with a broken
// database.
func (s *site) without(t testing.TB, table string, do func()) {
	t.Helper()
	s.execute(t, "ALTER TABLE "+table+" RENAME TO "+table+"_away")
	defer s.execute(t, "ALTER TABLE "+table+"_away RENAME TO "+table)
	do()
}

// execute runs a statement directly on the database.
func (s *site) execute(t testing.TB, statement string) {
	t.Helper()
	driver, name := "pgx", s.config.DatabaseURL
	if name == "" {
		driver, name = "sqlite", "file:"+filepath.Join(s.config.Dir, store.FileName)+"?_pragma=busy_timeout(5000)"
	}
	db, err := sql.Open(driver, name)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}
