package sqldb

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// jobChannel is the PostgreSQL notification channel for new jobs.
const jobChannel = "redoubt_job"

// listenRetryDelay is the delay before a broken listener connection is reopened.
const listenRetryDelay = 10 * time.Second

// Listen calls the function of OnQueued when another process commits a job without delay, until
// the context ends. It uses one connection. On SQLite it returns at once; behind a pooler in
// transaction mode it receives nothing. Queues poll in these cases.
func (s *DB) Listen(ctx context.Context) {
	if s.engine.listen == nil || s.engine.queued == nil {
		return
	}
	for ctx.Err() == nil {
		_ = s.engine.listen(ctx, s.engine.queued) // the queue polls meanwhile
		select {
		case <-ctx.Done():
		case <-time.After(listenRetryDelay):
		}
	}
}

// postgresListen returns a function that calls heard once after LISTEN and then for each
// notification. It returns when the connection breaks or the context ends. The first call covers
// earlier notifications.
func postgresListen(config *pgx.ConnConfig) func(context.Context, func()) error {
	return func(ctx context.Context, heard func()) error {
		conn, err := pgx.ConnectConfig(ctx, config.Copy())
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // a broken connection needs no close
		if _, err := conn.Exec(ctx, "LISTEN "+jobChannel); err != nil {
			return err
		}
		for {
			heard()
			if _, err := conn.WaitForNotification(ctx); err != nil {
				return err
			}
		}
	}
}
