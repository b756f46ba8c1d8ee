package sqldb

import (
	"context"
	"fmt"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// engineCheck is a query that returns a line for each fault, or a single "ok".
type engineCheck struct{ name, query string }

// sqliteChecks are the checks that SQLite supports.
var sqliteChecks = []engineCheck{
	{"pages and indexes of the file", `PRAGMA integrity_check(100)`},
	{
		"foreign keys",
		`SELECT 'row ' || COALESCE(rowid, '') || ' of ' || "table" || ' refers to a row of ' || parent || ' that is not ` +
			`there' FROM pragma_foreign_key_check`,
	},
}

// postgresChecks builds queries from the catalog that read every row, which verifies it if the
// cluster has checksums. The conditions use the results, because the planner would otherwise skip
// unused sums and their rows.
func postgresChecks(ctx context.Context, e *engine) ([]engineCheck, error) {
	var checks []engineCheck
	for _, kind := range []struct{ name, from string }{
		{
			"rows of %s",
			`SELECT relname, 'SELECT ''ok'' FROM (SELECT SUM(LENGTH(CAST(t AS TEXT))) AS n FROM ' || quote_ident(relname) ||
				' t) AS all_of_it WHERE n IS DISTINCT FROM -1'
			FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY relname`,
		},
		{
			"foreign key %s",
			`SELECT c.conname, 'SELECT ''a row of ' || c.conrelid::regclass || ' refers to one that is not there'' FROM ' ||
				c.conrelid::regclass || ' a LEFT JOIN ' || c.confrelid::regclass ||
				' b ON b.' || quote_ident(q.attname) || ' = a.' || quote_ident(p.attname) || ' WHERE b.' || quote_ident(q.attname)
				|| ' IS NULL AND a.' || quote_ident(p.attname) || ' IS NOT NULL'
			FROM pg_constraint c JOIN pg_attribute p ON p.attrelid = c.conrelid AND p.attnum = c.conkey[1]
			JOIN pg_attribute q ON q.attrelid = c.confrelid AND q.attnum = c.confkey[1]
			WHERE c.contype = 'f' AND c.connamespace = 'public'::regnamespace AND CARDINALITY(c.conkey) = 1 ORDER BY c.conname`,
		},
		{
			"index %s",
			`SELECT c.relname, 'SELECT ''ok'' FROM (SELECT bt_index_check(' || quote_literal(c.relname) ||
				'::regclass, TRUE)) AS checked'
			FROM pg_class c JOIN pg_am a ON a.oid = c.relam JOIN pg_index i ON i.indexrelid = c.oid
			WHERE a.amname = 'btree' AND c.relnamespace = 'public'::regnamespace AND i.indisvalid
				AND EXISTS (SELECT FROM pg_extension WHERE extname = 'amcheck') ORDER BY c.relname`,
		},
	} {
		err := e.view(ctx, func(ctx context.Context, q *Session) error {
			list, err := Many(ctx, q, func(r Row) (c engineCheck, err error) { return c, r.Scan(&c.name, &c.query) }, kind.from)
			for _, c := range list {
				checks = append(checks, engineCheck{fmt.Sprintf(kind.name, c.name), c.query})
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return checks, nil
}

// maxFaults limits the listed faults of one check; the rest is only counted.
const maxFaults = 20

// CheckEngine runs the database's own checks and calls report with the faults of each, possibly none.
// SQLite checks pages, indexes and foreign keys. PostgreSQL reads every row, checks foreign keys,
// and checks indexes if amcheck is installed. An error means that a check could not run.
func (s *DB) CheckEngine(ctx context.Context, report func(check string, faults []string)) error {
	checks := s.engine.checks
	if s.engine.name == "postgres" {
		var err error
		if checks, err = postgresChecks(ctx, s.engine); err != nil {
			return err
		}
	}
	for _, c := range checks {
		faults, err := s.engine.lines(ctx, c.query)
		if model.OutageOf(err) == model.ErrDamaged {
			faults, err = append(faults, err.Error()), nil
		}
		if err != nil {
			return fmt.Errorf("check %s: %w", c.name, err)
		}
		report(c.name, FirstFaults(faults))
	}
	return nil
}

// FirstFaults returns the first maxFaults faults and a line with the number of the others.
func FirstFaults(faults []string) []string {
	for i, f := range faults {
		faults[i] = strings.TrimSpace(f)
	}
	if more := len(faults) - maxFaults; more > 0 {
		return append(faults[:maxFaults:maxFaults], fmt.Sprintf("and %d more", more))
	}
	return faults
}
