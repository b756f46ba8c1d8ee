package exceptions

import (
	"context"
	"errors"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// ExceptionChanges returns the changes since the mark stored by SaveExceptionMark. They are unknown
// if there is no mark, or if the feed does not reach back to it.
func (tx *Tx) ExceptionChanges(ctx context.Context) (c model.ExceptionChanges, err error) {
	c.Now = model.ExceptionMark{Version: tx.Version(), At: tx.Now()}
	if c.Now.TriageEvent, err = tx.LastTriageEvent(ctx); err != nil {
		return c, err
	}
	if c.Now.Advisories, err = tx.AdvisoryVersion(ctx); err != nil {
		return c, err
	}
	c.Since, err = sqldb.One(ctx, tx, func(r sqldb.Row) (m model.ExceptionMark, err error) {
		return m, r.Scan(&m.Version, &m.TriageEvent, &m.Advisories, sqldb.Instant(&m.At))
	}, `SELECT version, triage_event, advisories, marked_at FROM exception_mark WHERE deployment_id = $1`)
	if errors.Is(err, model.ErrNotFound) {
		c.Unknown = true
		return c, nil
	}
	if err != nil {
		return c, err
	}
	pruned, err := sqldb.One(ctx, tx, sqldb.Scalar[int64], `SELECT pruned_version FROM deployment WHERE id = $1`)
	if c.Unknown = c.Since.Version < pruned; err != nil || c.Unknown {
		return c, err
	}
	c.Projects, err = sqldb.Many(ctx, tx, sqldb.Scalar[int64],
		`SELECT DISTINCT id FROM change WHERE deployment_id = $1 AND version > $2 AND kind = $3`,
		c.Since.Version, sqldb.ChangeProject)
	if err != nil {
		return c, err
	}
	// Decisions of exceptions themselves need no reevaluation.
	c.Lineages, err = sqldb.Many(ctx, tx, sqldb.Scalar[int64],
		`SELECT DISTINCT lineage_id FROM triage_event WHERE deployment_id = $1 AND id > $2
		AND actor_json NOT LIKE '{"kind":"exception"%' AND actor_json NOT LIKE '{"kind":"vex"%'`, c.Since.TriageEvent)
	if err != nil {
		return c, err
	}
	// Names take effect when stored, before their version is published.
	c.Names, err = sqldb.Many(ctx, tx.Session, sqldb.Scalar[string],
		`SELECT DISTINCT name FROM advisory_alias_change WHERE version > $1`, c.Since.Advisories)
	return c, err
}

// SaveExceptionMark stores up to which point the exceptions were evaluated.
func (tx *Tx) SaveExceptionMark(ctx context.Context, m model.ExceptionMark) error {
	err := tx.Write(ctx,
		`INSERT INTO exception_mark (deployment_id, version, triage_event, advisories, marked_at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (deployment_id) DO UPDATE SET version = excluded.version, triage_event = excluded.triage_event,
			advisories = excluded.advisories, marked_at = excluded.marked_at`, m.Version, m.TriageEvent, m.Advisories, m.At)
	return err
}
