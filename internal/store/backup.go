package store

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// Backup writes one state of the whole database to a new SQLite file, while
// others go on reading and writing. It never writes over a file. PostgreSQL has
// its own tools for that: there it is errors.ErrUnsupported.
func (s *Store) Backup(ctx context.Context, file string) error {
	if s.engine.copyTo == "" {
		return fmt.Errorf("a PostgreSQL database is backed up with pg_dump: %w", errors.ErrUnsupported)
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	if _, err := s.engine.write.ExecContext(ctx, s.engine.copyTo, file); err != nil {
		return errors.Join(fmt.Errorf("back up to %s: %w", file, s.engine.explain(ctx, err)), os.Remove(file))
	}
	return nil
}
