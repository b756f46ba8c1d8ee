package sqldb

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"

	"github.com/pressly/goose/v3"

	"github.com/redoubt/redoubt/internal/model"
)

// Baseline is the version of the initial schema; later migrations change it. Older databases, which
// no release created, are rejected.
const Baseline = 82

// migrations contains the numbered migrations, which must not be edited once released. A file
// applies to both engines unless its name ends in .sqlite.sql or .postgres.sql.
//
//go:embed migrations/*.sql
var migrations embed.FS

// migrate migrates the schema, one process at a time.
func (e *engine) migrate(ctx context.Context, log *slog.Logger) error {
	provider, err := e.migrator()
	if err != nil {
		return err
	}
	applied, err := provider.Up(ctx) // leaves a newer schema unchanged
	if err == nil || e.classify(err) == nil {
		if newer := e.refuseNewer(ctx, provider); newer != nil {
			return newer
		}
	}
	if err != nil {
		return cmp.Or(refuseOlder(ctx, provider), err)
	}
	if len(applied) > 0 && applied[0].Source.Version == Baseline {
		log.InfoContext(ctx, "created the database", "engine", e.name, "schema", applied[len(applied)-1].Source.Version)
		return nil
	}
	for _, m := range applied {
		log.InfoContext(
			ctx, "migrated the database", "engine", e.name, "migration", cmp.Or(m.Source.Path, fmt.Sprint(m.Source.Version)),
		)
	}
	return nil
}

// migrator returns the provider of the engine's migrations.
func (e *engine) migrator() (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	foreign, err := e.foreignMigrations(files)
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(e.dialect, e.write, files,
		goose.WithExcludeNames(foreign), goose.WithSessionLocker(e.locker), goose.WithDisableGlobalRegistry(true))
}

// refuseNewer returns a NewerSchemaError if a later version of the program migrated the schema.
// That may contain data unknown to this one.
func (e *engine) refuseNewer(ctx context.Context, provider *goose.Provider) error {
	stored, known, err := provider.GetVersions(ctx)
	e.schema = known
	if err == nil && stored > known {
		return &NewerSchemaError{Stored: stored, Known: known}
	}
	return Misread(err)
}

// NewerSchemaError means that a later version of Redoubt has migrated the database. Nothing was
// read or written.
type NewerSchemaError struct {
	Stored int64 // version of the database's schema
	Known  int64 // newest version known to this program
}

// Unwrap returns model.ErrReplaced, so that clients of a running server retry and reach the newer
// version.
func (e *NewerSchemaError) Unwrap() error { return model.ErrReplaced }

// Error describes both versions and the two possible solutions.
func (e *NewerSchemaError) Error() string {
	return fmt.Sprintf("the database has schema %d of a newer redoubt; this one supports schemas up to %d and "+
		"would damage newer data. "+
		"Run the newer redoubt, or restore the backup that was made before the update. Nothing was changed", e.Stored,
		e.Known)
}

// refuseOlder returns an OlderSchemaError if the schema is older than the baseline. The baseline
// creates tables, so on such a database it failed at the first table and was rolled back.
func refuseOlder(ctx context.Context, provider *goose.Provider) error {
	stored, _, err := provider.GetVersions(ctx)
	if err == nil && stored > 0 && stored < Baseline {
		return &OlderSchemaError{Stored: stored}
	}
	return nil
}

// OlderSchemaError means that a development version before the baseline created the database.
// Nothing was changed in it.
type OlderSchemaError struct {
	Stored int64 // version of the database's schema
}

// Error describes the origin of the database, the data that is not transferred, and the two
// possible solutions.
func (e *OlderSchemaError) Error() string {
	return fmt.Sprintf("the database has schema %d of a development version of redoubt before 28 November 2026; "+
		"this one supports schema %d and later. "+
		"Its data is not transferred: findings, decisions, policies, users and tokens. "+
		"Start with an empty database and import the reports again, or build commit 381e0d74 and start it once, which "+
		"migrates the database to schema %d. Nothing was changed", e.Stored, Baseline, Baseline)
}

// foreignMigrations returns the files for the other engine.
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
