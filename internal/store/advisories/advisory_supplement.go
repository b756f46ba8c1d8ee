package advisories

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// noFixes is the JSON of a body without fixes. Texts cannot contain it, because their quotes are
// escaped.
var noFixes = []byte(`"fix_recommendations":[]`)

// Supplement adds missing data to findings: upgrade recommendations, and the severity of unrated
// vulnerabilities.
func (tx *Tx) Supplement(ctx context.Context, known map[int64]model.Supplement) error {
	bodies := map[int64][]byte{}
	severities := map[int64]model.Severity{}
	in, arg := tx.In("finding_id", 2, slices.Sorted(maps.Keys(known)))
	err := sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var id int64
		var body []byte
		err := r.Scan(&id, &body)
		k := known[id]
		if len(k.Fixes) > 0 && bytes.Contains(body, noFixes) {
			body = bytes.Replace(body, noFixes, []byte(`"fix_recommendations":`+sqldb.Encoded(k.Fixes)), 1)
			bodies[id] = body
		}
		if k.Severity != 0 && model.BodyUnrated(body) {
			bodies[id], severities[id] = model.RateBody(body), k.Severity
		}
		return err
	}, `SELECT finding_id, body FROM finding_body WHERE deployment_id = $1 AND `+in, arg)
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(bodies)) {
		if err := tx.Write(ctx, `UPDATE finding_body SET body = $3 WHERE deployment_id = $1 AND finding_id = $2`, id,
			bodies[id]); err != nil {
			return err
		}
		err := tx.Write(ctx, `UPDATE finding SET version = $3, severity = CASE WHEN $4 > 0 THEN $4 ELSE severity END WHERE `+
			`deployment_id = $1 AND id = $2`,
			id, tx.NextVersion(), severities[id])
		if err != nil {
			return err
		}
		tx.Change(sqldb.ChangeFinding, id)
	}
	return nil
}
