package store

import (
	"context"

	"github.com/redoubt/redoubt/internal/model"
)

const sourceColumns = `location, kind, etag, last_modified, checked_at, loaded_at, newest_at, records, refused, error`

func scanSource(r row) (s model.AdvisorySource, err error) {
	return s, r.Scan(&s.Location, &s.Kind, &s.ETag, &s.LastModified, instant(&s.CheckedAt), instant(&s.LoadedAt), instant(&s.NewestAt),
		&s.Records, &s.Refused, &s.Error)
}

// AdvisorySource returns the stored source of a location, or one without a state. Addresses
// that differ only in user info, query or fragment are one source.
func (s *Store) AdvisorySource(ctx context.Context, location string) (model.AdvisorySource, error) {
	location = model.AdvisorySource{Location: location}.Shown()
	out := model.AdvisorySource{Location: location}
	err := s.viewShared(ctx, func(ctx context.Context, q *session) error {
		list, err := many(ctx, q, scanSource, `SELECT `+sourceColumns+` FROM advisory_source WHERE location = $1`, location)
		if len(list) > 0 {
			out = list[0]
		}
		return err
	})
	return out, err
}

// PutAdvisorySource stores the state of a source and replaces the one before. The credentials
// of an address (user info, query) are not stored.
func (s *Store) PutAdvisorySource(ctx context.Context, source model.AdvisorySource) error {
	return s.updateShared(ctx, func(ctx context.Context, q *session) error {
		return q.insertGlobal(ctx, `advisory_source (`+sourceColumns+`)`, [][]any{{
			source.Shown(), source.Kind, source.ETag, source.LastModified, source.CheckedAt, source.LoadedAt, source.NewestAt,
			source.Records, source.Refused, source.Error,
		}}, `ON CONFLICT (location) DO UPDATE SET `+excluded(sourceColumns, "location"))
	})
}

// loadedImage is what the server's trail tells of a source that was loaded.
type loadedImage struct {
	Source  string `json:"source"`
	Kind    string `json:"kind,omitempty"`
	Records int    `json:"records"`
	Changed int    `json:"changed"`
	Refused int    `json:"refused"`
	Error   string `json:"error,omitempty"`
}

// AuditAdvisoryLoad leaves in the server's own trail that a source was loaded, with
// how many of its records are new or changed, or why it could not be: advisories
// are of no deployment.
func (s *Store) AuditAdvisoryLoad(ctx context.Context, by model.Actor, source model.AdvisorySource, changed int) error {
	return s.updateShared(ctx, func(ctx context.Context, q *session) error {
		tx := newTx(q, model.Deployment{}, s.now(), by)
		tx.audit("advisories.update", "advisories", nil, loadedImage{source.Shown(), source.Kind, source.Records, changed, source.Refused, source.Error})
		return tx.writeEvents(ctx)
	})
}

// AdvisoryStatus sums up what is stored. Counting walks keys: some hundred
// thousand records take a part of a second.
func (s *Store) AdvisoryStatus(ctx context.Context) (out model.AdvisoryStatus, err error) {
	err = s.viewShared(ctx, func(ctx context.Context, q *session) error {
		out, err = one(ctx, q, func(r row) (o model.AdvisoryStatus, err error) {
			return o, r.Scan(&o.Version, instant(&o.ChangedAt), &o.Records, &o.Withdrawn, &o.Packages, &o.Scores, &o.Exploited)
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

// AdvisorySources lists where advisories came from, by location.
func (s *Store) AdvisorySources(ctx context.Context) (list []model.AdvisorySource, err error) {
	err = s.viewShared(ctx, func(ctx context.Context, q *session) error {
		list, err = advisorySources(ctx, q)
		return err
	})
	return list, err
}

func advisorySources(ctx context.Context, q *session) ([]model.AdvisorySource, error) {
	return many(ctx, q, scanSource, `SELECT `+sourceColumns+` FROM advisory_source ORDER BY location`+q.byBytes())
}
