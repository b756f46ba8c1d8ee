package exceptions

import (
	"context"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// maxExceptionsOf limits the exceptions in the history of a finding.
const maxExceptionsOf = 100

// ExceptionsOf returns the newest maxExceptionsOf exceptions that name a lineage, oldest first,
// without their named findings.
func (tx *Tx) ExceptionsOf(ctx context.Context, lineageID int64) ([]model.Exception, error) {
	list, err := sqldb.Many(ctx, tx, scanException, selectExceptions+` AND r.id IN
		(SELECT exception_id FROM exception_finding WHERE deployment_id = $1 AND lineage_id = $2) ORDER BY r.id DESC
		LIMIT $3`,
		lineageID, maxExceptionsOf)
	slices.Reverse(list)
	return list, err
}

// RequestedExceptions returns the open request of each lineage; lineages without one are omitted.
func (tx *Tx) RequestedExceptions(ctx context.Context, lineages []int64) (map[int64]int64, error) {
	of := map[int64]int64{}
	in, arg := tx.In("q.lineage_id", 3, lineages)
	return of, sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var lineage, id int64
		err := r.Scan(&lineage, &id)
		of[lineage] = id
		return err
	},
		`SELECT q.lineage_id, q.exception_id FROM exception_finding q JOIN exception r ON r.deployment_id = q.deployment_id
			AND r.id = q.exception_id
		WHERE q.deployment_id = $1 AND r.state = $2 AND `+in, int64(model.ExceptionRequested), arg)
}

// LineagesStillOpen returns those of the lineages that are open on some ref, ascending.
func (tx *Tx) LineagesStillOpen(ctx context.Context, ids []int64) ([]int64, error) {
	in, arg := tx.In("l.id", 4, ids)
	return sqldb.Many(ctx, tx, sqldb.Scalar[int64], `SELECT l.id FROM lineage l WHERE l.deployment_id = $1 AND `+
		openLineage+` AND `+in+` ORDER BY l.id`,
		int64(model.Unresolved), int64(model.TriageIgnored), arg)
}

// FindingsOfExceptions returns one finding for each lineage that exceptions name, preferably an
// open one.
func (tx *Tx) FindingsOfExceptions(ctx context.Context, list []model.Exception) (map[int64]int64, error) {
	var lineages []int64
	for _, r := range list {
		lineages = append(lineages, r.Lineages...)
	}
	return tx.FindingsOfLineages(ctx, lineages)
}

// RequestCounts returns the requests of a user, and all open ones. If creatorID is 0, the user is
// the actor, matched by kind and id because names may change. Requests that a user withdrew within
// the last day count too, which limits repeated requests.
func (tx *Tx) RequestCounts(ctx context.Context, creatorID int64) (own, all int, err error) {
	err = sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var asker int64
		var by model.Actor
		var state model.ExceptionState
		err := r.Scan(&asker, sqldb.Decoded(&by), &state)
		if asker == creatorID && (creatorID != 0 || by.Kind == tx.Actor().Kind && by.ID == tx.Actor().ID) {
			own++
		}
		if state == model.ExceptionRequested {
			all++
		}
		return err
	}, `SELECT creator_id, created_by_json, state FROM exception
		WHERE deployment_id = $1 AND kind = $6 AND (state = $2 OR state = $4 AND creator_id = $3 AND creator_id > 0
		AND decided_at > $5)`,
		int64(model.ExceptionRequested), creatorID, int64(model.ExceptionWithdrawn), tx.Now().AddDate(0, 0, -1),
		int64(model.ExceptionOfFindings))
	return own, all, err
}
