package advisories

import (
	"context"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

const sourceColumns = `location, kind, etag, last_modified, checked_at, loaded_at, newest_at, records, refused, error`

func scanSource(r sqldb.Row) (s model.AdvisorySource, err error) {
	return s, r.Scan(&s.Location, &s.Kind, &s.ETag, &s.LastModified, sqldb.Instant(&s.CheckedAt),
		sqldb.Instant(&s.LoadedAt), sqldb.Instant(&s.NewestAt),
		&s.Records, &s.Refused, &s.Error)
}

// AdvisorySource returns the stored source of a location, or one without a state. Locations that
// differ only in user info, query or fragment are the same source.
func (s *DB) AdvisorySource(ctx context.Context, location string) (model.AdvisorySource, error) {
	location = model.AdvisorySource{Location: location}.Shown()
	out := model.AdvisorySource{Location: location}
	err := s.ViewShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		list, err := sqldb.Many(
			ctx, q, scanSource, `SELECT `+sourceColumns+` FROM advisory_source WHERE location = $1`, location,
		)
		if len(list) > 0 {
			out = list[0]
		}
		return err
	})
	return out, err
}

// PutAdvisorySource stores or replaces the state of a source. Credentials in the address (user
// info, query) are not stored.
func (s *DB) PutAdvisorySource(ctx context.Context, source model.AdvisorySource) error {
	return s.UpdateShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		return q.InsertGlobal(ctx, `advisory_source (`+sourceColumns+`)`, [][]any{{
			source.Shown(), source.Kind, source.ETag, source.LastModified, source.CheckedAt, source.LoadedAt, source.NewestAt,
			source.Records, source.Refused, source.Error,
		}}, `ON CONFLICT (location) DO UPDATE SET `+sqldb.Excluded(sourceColumns, "location"))
	})
}

// loadedImage is the content of audit events about a loaded source.
type loadedImage struct {
	Source  string `json:"source"`
	Kind    string `json:"kind,omitempty"`
	Records int    `json:"records"`
	Changed int    `json:"changed"`
	Refused int    `json:"refused"`
	Error   string `json:"error,omitempty"`
}

// AuditAdvisoryLoad adds an event about a loaded source to the server's audit trail. It contains
// the number of changed records or the error. Advisories belong to no deployment.
func (s *DB) AuditAdvisoryLoad(ctx context.Context, by model.Actor, source model.AdvisorySource, changed int) error {
	return s.UpdateShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		tx := sqldb.NewTx(q, model.Deployment{}, s.Now(), by)
		tx.Audit("advisories.update", "advisories", nil, loadedImage{
			source.Shown(), source.Kind, source.Records, changed, source.Refused, source.Error,
		})
		return tx.WriteEvents(ctx)
	})
}

// AdvisoryStatus returns counts of the stored records. Counting some hundred thousand records takes
// less than a second.
func (s *DB) AdvisoryStatus(ctx context.Context) (out model.AdvisoryStatus, err error) {
	err = s.ViewShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		out, err = sqldb.One(ctx, q, func(r sqldb.Row) (o model.AdvisoryStatus, err error) {
			return o, r.Scan(&o.Version, sqldb.Instant(&o.ChangedAt), &o.Records, &o.Withdrawn, &o.Packages,
				&o.Scores, &o.Exploited)
		}, `SELECT version, changed_at, (SELECT COUNT(*) FROM advisory), (SELECT COUNT(*) FROM advisory WHERE withdrawn = 1),
				(SELECT COUNT(DISTINCT package) FROM advisory_package), (SELECT COUNT(*) FROM epss), (SELECT COUNT(*) FROM kev)
			FROM advisory_state WHERE id = 1`)
		if err != nil {
			return err
		}
		out.Sources, err = advisorySources(ctx, q)
		return err
	})
	return out, err
}

// AdvisorySources returns the sources of advisories, by location.
func (s *DB) AdvisorySources(ctx context.Context) (list []model.AdvisorySource, err error) {
	err = s.ViewShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		list, err = advisorySources(ctx, q)
		return err
	})
	return list, err
}

func advisorySources(ctx context.Context, q *sqldb.Session) ([]model.AdvisorySource, error) {
	return sqldb.Many(ctx, q, scanSource, `SELECT `+sourceColumns+` FROM advisory_source ORDER BY location`+q.ByBytes())
}
