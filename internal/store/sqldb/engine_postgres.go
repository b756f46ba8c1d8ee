package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3/database"
	"github.com/pressly/goose/v3/lock"

	"github.com/redoubt/redoubt/internal/model"
)

// postgresReaders, postgresIndex and postgresWriters limit the connections of one process. Writers
// of a tenant wait for each other while using a connection, and the active one may read outside of
// its transaction. With a shared pool the waiting writers could use the last connections and cause
// a deadlock.
const (
	postgresReaders = 10
	postgresIndex   = 8
	postgresWriters = 6
)

func openPostgres(ctx context.Context, databaseURL string, limit time.Duration) (*engine, error) {
	e, config, err := newPostgres(databaseURL, limit)
	if err != nil {
		return nil, err
	}
	if err := e.RunQuery(ctx, e.write.PingContext); err != nil {
		return nil, errors.Join(fmt.Errorf("connect to PostgreSQL at %s:%d, database %s: %w",
			config.Host, config.Port, config.Database, err), e.close())
	}
	return e, nil
}

// newPostgres returns an engine without an open connection.
func newPostgres(databaseURL string, limit time.Duration) (*engine, *pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		// The cause may contain the password.
		return nil, nil, errors.New("invalid database URL: use postgres://user:password@host:5432/name")
	}
	config.DialFunc = dialWithin(limit)
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300))
	if err != nil {
		return nil, nil, err
	}
	e := &engine{
		name: "postgres", dialect: database.DialectPostgres, locker: locker,
		read: postgresPool(config, postgresReaders), index: postgresPool(config, postgresIndex),
		write: postgresPool(config, postgresWriters), attempts: 1,
		snapshot:   &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true},
		forUpdate:  " FOR UPDATE",
		skipLocked: " FOR UPDATE SKIP LOCKED",
		announce:   `SELECT pg_notify('` + jobChannel + `', '')`,
		byBytes:    ` COLLATE "C"`,
		exclusive:  `SELECT pg_advisory_xact_lock(4097083627)`, // an arbitrary number unique to this lock
		nextIDs: `SELECT nextval(CAST(CAST($1 AS TEXT) || '_id_seq' AS regclass)) FROM generate_series(1, ` +
			`CAST($2 AS BIGINT))`,
		mark: func(n int) string { return "$" + strconv.Itoa(n) },
		bulk: postgresBulk, prepares: true,
		list: postgresList, classify: classifyPostgres,
		stall: &stall{limit: limit, probe: postgresAnswers(config)},
	}
	e.setFeedReaders(postgresIndex)
	e.listen = postgresListen(config)
	return e, config, nil
}

func postgresPool(config *pgx.ConnConfig, conns int) *sql.DB {
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	db.SetConnMaxIdleTime(5 * time.Minute)
	return db
}

func postgresList(column string, n int, values any) (condition string, arg any) {
	return fmt.Sprintf("%s = ANY($%d)", column, n), values
}

// postgresAnswers returns a function that probes the server on a new connection. A server that
// rejects the connection, for example because it has too many, counts as responsive.
func postgresAnswers(config *pgx.ConnConfig) func(context.Context) error {
	return func(ctx context.Context) error {
		conn, err := pgconn.ConnectConfig(ctx, config.Config.Copy())
		if err == nil {
			_, err = conn.Exec(ctx, `SELECT 1`).ReadAll()
			_ = conn.Close(ctx) // the result is already known
		}
		if _, answered := errors.AsType[*pgconn.PgError](err); answered {
			return nil
		}
		return err
	}
}

func classifyPostgres(err error) error {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		if kind := classifySQLState(e.Code); kind != nil {
			return kind
		}
		if e.Code == "58P01" { // undefined_file
			return classifyLostFile(e.Message)
		}
		if _, ok := errors.AsType[*pgconn.ConnectError](err); ok { // such as a changed password or a deleted database
			return model.ErrUnreachable
		}
		return nil
	}
	if lostConnection(err) {
		return model.ErrUnreachable
	}
	return nil
}

// classifySQLState classifies a SQLSTATE returned by PostgreSQL.
func classifySQLState(code string) error {
	switch code {
	case "23505", "23503": // unique_violation, foreign_key_violation
		return model.ErrConflict
	case "40001", "40P01", "55P03": // serialization_failure, deadlock_detected, lock_not_available
		return model.ErrBusy
	case "57014", "53400": // query_canceled, configuration_limit_exceeded: statement_timeout, temp_file_limit
		return model.ErrCancelled
	case "53100": // disk_full
		return model.ErrDiskFull
	case "53200": // out_of_memory
		return model.ErrOutOfMemory
	case "25006": // read_only_sql_transaction
		return model.ErrReadOnly
	case "57P01", "57P02", "57P03", "57P05": // admin_shutdown, crash_shutdown, cannot_connect_now, idle_session_timeout
		return model.ErrUnreachable
	case "58030": // io_error
		return model.ErrDiskFailed
	case "XX001", "XX002": // data_corrupted, index_corrupted
		return model.ErrDamaged
	}
	switch code[:min(2, len(code))] {
	case "08": // connection exceptions
		return model.ErrUnreachable
	case "53", "57": // insufficient resources, operator intervention
		return model.ErrBusy
	}
	return nil
}

// storedFile matches the path of a file with stored data. The path occurs in messages in any
// language.
var storedFile = regexp.MustCompile(`\b(base|global|pg_tblspc|pg_xact|pg_multixact)/`)

// classifyLostFile classifies a missing file by its path. Stored data is damage and a temporary
// file is a disk error. Others, such as a missing library, are unclassified.
func classifyLostFile(message string) error {
	switch {
	case strings.Contains(message, "pgsql_tmp"):
		return model.ErrDiskFailed
	case storedFile.MatchString(message):
		return model.ErrDamaged
	}
	return nil
}

// lostConnection reports whether an error is a network error or a closed connection, before or
// after the statement was sent.
func lostConnection(err error) bool {
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	for _, end := range []error{
		pgconn.ErrConnClosed, driver.ErrBadConn, io.ErrUnexpectedEOF, io.EOF, net.ErrClosed, io.ErrClosedPipe,
		syscall.ECONNRESET, syscall.ECONNREFUSED, syscall.ECONNABORTED,
		syscall.EPIPE, syscall.ETIMEDOUT, syscall.EHOSTUNREACH, syscall.ENETUNREACH,
	} {
		if errors.Is(err, end) {
			return true
		}
	}
	return pgconn.SafeToRetry(err) || pgconn.Timeout(err)
}

// dialWithin returns a dialer whose connections are closed when the other side is unreachable. Idle
// connections use keep-alive probes; on Linux, unacknowledged data has a timeout too.
func dialWithin(limit time.Duration) pgconn.DialFunc {
	dialer := &net.Dialer{
		Timeout: limit,
		KeepAliveConfig: net.KeepAliveConfig{
			Enable: true, Idle: max(limit/2, time.Second), Interval: max(limit/4, time.Second), Count: 2,
		},
		Control: endUnacknowledged(limit),
	}
	return dialer.DialContext
}
