package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/redoubt/redoubt"
)

// A client that hangs up ends its query; it does not make a database that broke
// meanwhile well.
func TestABrokenDatabaseIsNoHangUp(t *testing.T) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	e := &engine{classify: classifyPostgres, broken: postgresIsBroken}
	full := e.explain(gone, &pgconn.PgError{Code: "53100", Message: "disk full"})
	if errors.Is(full, context.Canceled) || !errors.Is(full, redoubt.ErrUnavailable) {
		t.Errorf("a full disk is %v", full)
	}
	if err := e.explain(gone, &pgconn.PgError{Code: "57014", Message: "canceling statement due to user request"}); !errors.Is(err, context.Canceled) {
		t.Errorf("a query that was cancelled is %v", err)
	}

	s, err := Open(t.Context(), Config{Dir: t.TempDir(), Clock: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	// A connection that only reads says so of itself, as a broken one would.
	_, err = s.engine.read.ExecContext(t.Context(), `DELETE FROM deployment`)
	if err = s.engine.explain(gone, err); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("a database that takes no writes is %v", err)
	}
	_, err = s.engine.read.ExecContext(gone, `SELECT 1`)
	if err = s.engine.explain(gone, err); !errors.Is(err, context.Canceled) {
		t.Errorf("a query that was cancelled is %v", err)
	}
}
