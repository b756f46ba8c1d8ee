package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3/database"
	"github.com/pressly/goose/v3/lock"

	"github.com/redoubt/redoubt"
)

// postgresReaders and postgresWriters bound the connections of one process.
// Writers of a tenant wait for each other, each on a connection, and the one
// whose turn it is may read beside its transaction: were there one pool, those
// who wait could take its last connections, and all would wait for ever.
const (
	postgresReaders = 14
	postgresWriters = 6
)

func openPostgres(ctx context.Context, databaseURL string) (*engine, error) {
	config, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		// The cause may quote the password.
		return nil, errors.New("the database URL cannot be read; it looks like postgres://user:password@host:5432/name")
	}
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300))
	if err != nil {
		return nil, err
	}
	e := &engine{
		name: "postgres", dialect: database.DialectPostgres, locker: locker,
		read: postgresPool(config, postgresReaders), write: postgresPool(config, postgresWriters), attempts: 1,
		snapshot:   &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true},
		forUpdate:  " FOR UPDATE",
		skipLocked: " FOR UPDATE SKIP LOCKED",
		byBytes:    ` COLLATE "C"`,
		nextIDs:    `SELECT nextval(CAST(CAST($1 AS TEXT) || '_id_seq' AS regclass)) FROM generate_series(1, CAST($2 AS BIGINT))`,
		mark:       func(n int) string { return "$" + strconv.Itoa(n) },
		list:       postgresList, classify: classifyPostgres, broken: postgresIsBroken,
	}
	if err := e.write.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("connect to PostgreSQL at %s:%d, database %s: %w", config.Host, config.Port, config.Database, err), e.close())
	}
	return e, nil
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

func classifyPostgres(err error) error {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		var connect *pgconn.ConnectError
		if errors.As(err, &connect) || pgconn.SafeToRetry(err) {
			return redoubt.ErrUnavailable
		}
		return nil
	}
	switch e.Code {
	case "23505", "23503": // unique_violation, foreign_key_violation
		return redoubt.ErrConflict
	case "40001", "40P01", "55P03": // serialization_failure, deadlock_detected, lock_not_available
		return redoubt.ErrUnavailable
	}
	switch e.Code[:2] { // connection exceptions, insufficient resources, operator intervention
	case "08", "53", "57":
		return redoubt.ErrUnavailable
	}
	return nil
}

func postgresIsBroken(err error) bool {
	var e *pgconn.PgError
	if !errors.As(err, &e) || len(e.Code) < 2 {
		return false
	}
	switch e.Code[:2] { // insufficient resources, system errors, internal errors
	case "53", "58", "XX":
		return true
	}
	return false
}
