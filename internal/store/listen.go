package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// jobChannel is the channel of PostgreSQL on which commits of work are announced.
const jobChannel = "redoubt_job"

// listenAgain is how long a listener waits whose connection broke.
const listenAgain = 10 * time.Second

// Listen has what OnQueued was given called when another process that shares the database
// committed work that is due at once, until the context ends. It keeps a connection of its own.
// On SQLite, and behind a pooler that has no connection for long, nothing is announced: queues
// find such work by looking.
func (s *Store) Listen(ctx context.Context) {
	if s.engine.listen == nil || s.engine.queued == nil {
		return
	}
	for ctx.Err() == nil {
		_ = s.engine.listen(ctx, s.engine.queued) // what is not heard is found by looking
		select {
		case <-ctx.Done():
		case <-time.After(listenAgain):
		}
	}
}

// postgresListen calls heard for each announcement until the connection breaks or the context
// ends, and once it listens: what was announced before is found then.
func postgresListen(config *pgx.ConnConfig) func(context.Context, func()) error {
	return func(ctx context.Context, heard func()) error {
		conn, err := pgx.ConnectConfig(ctx, config.Copy())
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // what it had to say it has said
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
