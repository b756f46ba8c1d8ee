package sqldb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/redoubt/redoubt/internal/model"
)

// Backup writes a snapshot of the whole database to a new SQLite file while others read and write.
// It fails if the file exists. For PostgreSQL it returns errors.ErrUnsupported; use PostgreSQL's
// own tools.
func (s *DB) Backup(ctx context.Context, file string) error {
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
		return errors.Join(s.notBackedUp(ctx, file, err), os.Remove(file))
	}
	return nil
}

// notBackedUp describes why a backup failed. A full or read-only disk is that of the backup,
// because a backup writes nothing to the database's disk.
func (s *DB) notBackedUp(ctx context.Context, file string, err error) error {
	switch kind := s.engine.classify(err); {
	case errors.Is(kind, model.ErrDiskFull):
		return fmt.Errorf("back up to %s: not enough disk space in %s for a copy; nothing was written: %w",
			file, filepath.Dir(file), err)
	case errors.Is(kind, model.ErrReadOnly), errors.Is(kind, model.ErrOutOfFiles):
		return fmt.Errorf("back up to %s: the file cannot be written: %w", file, err)
	}
	return fmt.Errorf("back up to %s: %w", file, s.engine.explain(ctx, err))
}
