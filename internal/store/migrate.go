package store

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"

	"github.com/pressly/goose/v3"
)

// Migrations are numbered and never edited once released. A file is for both
// engines unless its name says which: .sqlite.sql or .postgres.sql.
//
//go:embed migrations/*.sql
var migrations embed.FS

// migrate brings the schema up to date, one process at a time.
func (e *engine) migrate(ctx context.Context, log *slog.Logger) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	foreign, err := e.foreignMigrations(files)
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(e.dialect, e.write, files,
		goose.WithExcludeNames(foreign), goose.WithGoMigrations(e.goMigrations()...), goose.WithSessionLocker(e.locker), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	applied, err := provider.Up(ctx)
	for _, m := range applied {
		log.InfoContext(ctx, "migrated the database", "engine", e.name, "migration", cmp.Or(m.Source.Path, fmt.Sprint(m.Source.Version)))
	}
	return err
}

// foreignMigrations lists the files that are for the other engine.
func (e *engine) foreignMigrations(files fs.FS) ([]string, error) {
	names, err := fs.Glob(files, "*.*.sql")
	var foreign []string
	for _, name := range names {
		if !strings.HasSuffix(name, "."+e.name+".sql") {
			foreign = append(foreign, name)
		}
	}
	return foreign, err
}
