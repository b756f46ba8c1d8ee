package sqldb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/redoubt/redoubt/internal/model"
)

// TestDatabaseFaultIsNotReportedAsCanceled checks that a database fault is reported as such even if the caller
// has canceled.
func TestDatabaseFaultIsNotReportedAsCanceled(t *testing.T) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	e := &engine{classify: classifyPostgres}
	full := e.explain(gone, &pgconn.PgError{Code: "53100", Message: "disk full"})
	if errors.Is(full, context.Canceled) || !errors.Is(full, model.ErrUnavailable) {
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
	// A write on a query-only connection fails like one on a read-only database.
	_, err = s.engine.read.ExecContext(t.Context(), `DELETE FROM deployment`)
	if err = s.engine.explain(gone, err); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("a database that takes no writes is %v", err)
	}
	_, err = s.engine.read.ExecContext(gone, `SELECT 1`)
	if err = s.engine.explain(gone, err); !errors.Is(err, context.Canceled) {
		t.Errorf("a query that was cancelled is %v", err)
	}
}

// TestOutages checks the classification of errors of the databases, their drivers and the operating
// system.
func TestOutages(t *testing.T) {
	lost := &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	for want, errs := range map[error][]error{
		model.ErrUnreachable: {
			lost, io.ErrUnexpectedEOF, io.EOF, syscall.EPIPE, net.ErrClosed, pgconn.ErrConnClosed, context.DeadlineExceeded, os.ErrDeadlineExceeded,
			&pgconn.ConnectError{}, state("57P01"), state("57P02"), state("57P03"), state("08006"),
		},
		model.ErrBusy:        {state("53300"), state("40001"), state("40P01")},
		model.ErrCancelled:   {state("57014"), state("53400")},
		model.ErrDiskFull:    {state("53100")},
		model.ErrOutOfMemory: {state("53200")},
		model.ErrDiskFailed:  {state("58030"), lostFile("base/pgsql_tmp/pgsql_tmp4711.0.fileset/o0.0")},
		model.ErrReadOnly:    {state("25006")},
		model.ErrDamaged:     {state("XX001"), state("XX002"), lostFile("base/16384/16385"), lostFile("pg_tblspc/16390/PG_15_202209061/5/16385.1"), lostFile("pg_xact/0000")},
		model.ErrConflict:    {state("23505")},
		nil:                  {state("42601"), state("XX000"), errors.New("another"), lostFile("$libdir/amcheck")},
	} {
		for _, err := range errs {
			if got := classifyPostgres(fmt.Errorf("as callers see it: %w", err)); !errors.Is(got, want) {
				t.Errorf("%v is %v, want %v", err, got, want)
			}
		}
	}
	for want, errs := range map[error][]error{
		model.ErrOutOfFiles:  {os.NewSyscallError("open", syscall.EMFILE)},
		model.ErrDiskFull:    {os.NewSyscallError("write", syscall.ENOSPC)},
		model.ErrOutOfMemory: {errors.New("CString: cannot allocate 4096 bytes"), errors.New("sqlite: cannot allocate 1 bytes of memory")},
	} {
		for _, err := range errs {
			if got := classifySQLite(err); !errors.Is(got, want) {
				t.Errorf("%v is %v, want %v", err, got, want)
			}
		}
	}
}

func lostFile(path string) error {
	return &pgconn.PgError{Code: "58P01", Message: `could not open file "` + path + `": No such file or directory`}
}

func state(code string) error { return &pgconn.PgError{Code: code} }
