package queue

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// Limits of requested jobs of one kind in a deployment.
const (
	// RequestedJobKept is the retention of finished requested jobs.
	RequestedJobKept = 24 * time.Hour

	maxWaiting      = 200 // unfinished, of all requesters
	maxWaitingOfOne = 20  // unfinished, per requester
	waitingTakes    = 5 * time.Second

	// Stored results in bytes. Each counts as at least documentRow, so that small ones are limited
	// too.
	maxDocuments      = 1 << 30
	maxDocumentsOfOne = 256 << 20
	documentRow       = 64 << 10
)

// requesterOf returns the requester that a job counts for: a user or token.
func requesterOf(by model.Actor) string { return by.Kind + ":" + by.ID }

// RequestJob is AddJob for callers with read access, so it limits the stored jobs. It returns a
// queued job with the same kind and input instead of a second one. With 20 unfinished jobs of the
// requester, or 200 in the deployment, it returns a *model.BusyError.
//
// Finished jobs are deleted after a day. The oldest are deleted earlier if the results of one
// requester exceed 256 MiB, or all results 1 GiB.
func (tx *Tx) RequestJob(ctx context.Context, j model.Job) (model.Job, error) {
	same, err := sqldb.Many(ctx, tx, scanJob, `SELECT `+jobColumns+` FROM job
		WHERE deployment_id = $1 AND kind = $2 AND state = $3 AND input_json = $4 ORDER BY id LIMIT 1`, j.Kind,
		model.JobQueued, string(j.Input))
	if err != nil {
		return j, err
	}
	if len(same) > 0 {
		return same[0], nil
	}
	if err := tx.checkWaiting(ctx, j.Kind); err != nil {
		return j, err
	}
	if err := tx.dropDocuments(ctx, j.Kind); err != nil {
		return j, err
	}
	return tx.AddJob(ctx, j)
}

// checkWaiting returns a *model.BusyError if one more job would exceed a limit.
func (tx *Tx) checkWaiting(ctx context.Context, kind string) error {
	waiting, err := sqldb.Many(ctx, tx, sqldb.Scalar[string],
		`SELECT requester FROM job WHERE deployment_id = $1 AND kind = $2 AND state IN ($3, $4)`,
		kind, model.JobQueued, model.JobRunning)
	if err != nil {
		return err
	}
	own := 0
	for _, requester := range waiting {
		if requester == requesterOf(tx.Actor()) {
			own++
		}
	}
	switch {
	case own >= maxWaitingOfOne:
		return &model.BusyError{Text: fmt.Sprintf("%d of your exports are not finished, which is the limit. "+
			"Retry after the time in Retry-After.", own), Wait: waitingTakes}
	case len(waiting) >= maxWaiting:
		return &model.BusyError{Text: fmt.Sprintf("%d exports of the deployment are not finished, which is the limit. "+
			"Retry after the time in Retry-After.", len(waiting)), Wait: waitingTakes}
	}
	return nil
}

// storedDocument is a finished job with the size that counts for its requester.
type storedDocument struct {
	id        int64
	requester string
	bytes     int64
}

// dropDocuments deletes finished jobs of a kind that are past their retention or exceed a limit.
func (tx *Tx) dropDocuments(ctx context.Context, kind string) error {
	if _, err := tx.dropFinished(ctx, kind); err != nil {
		return err
	}
	stored, err := sqldb.Many(ctx, tx, func(r sqldb.Row) (d storedDocument, err error) {
		err = r.Scan(&d.id, &d.requester, &d.bytes)
		d.bytes = max(d.bytes, documentRow)
		return d, err
	}, `SELECT id, requester, COALESCE(LENGTH(result), 0) + LENGTH(input_json) FROM job
		WHERE deployment_id = $1 AND kind = $2 AND state NOT IN ($3, $4) ORDER BY id`, kind,
		model.JobQueued, model.JobRunning)
	if err != nil {
		return err
	}
	gone := tooMany(stored)
	if len(gone) == 0 {
		return nil
	}
	condition, list := tx.In("id", 2, gone)
	return tx.Write(ctx, `DELETE FROM job WHERE deployment_id = $1 AND `+condition, list)
}

// tooMany returns the documents that exceed a limit if the newest ones stay. stored is sorted by age,
// oldest first.
func tooMany(stored []storedDocument) (gone []int64) {
	of, total := map[string]int64{}, int64(0)
	for _, d := range slices.Backward(stored) {
		if of[d.requester]+d.bytes > maxDocumentsOfOne || total+d.bytes > maxDocuments {
			gone = append(gone, d.id)
			continue
		}
		of[d.requester] += d.bytes
		total += d.bytes
	}
	return gone
}

// dropFinished deletes finished jobs of a kind that are past their retention.
func (tx *Tx) dropFinished(ctx context.Context, kind string) (int64, error) {
	return tx.Exec(ctx, `DELETE FROM job WHERE deployment_id = $1 AND kind = $2 AND finished_at <= $3`, kind,
		tx.Now().Add(-RequestedJobKept))
}

// DropRequestedJobs deletes finished jobs of a kind that are past their retention, and returns
// their number.
func (s *DB) DropRequestedJobs(ctx context.Context, deploymentID int64, kind string) (gone int64, err error) {
	by := model.Actor{Kind: "system", Name: "prune"}
	err = s.update(ctx, deploymentID, by, func(ctx context.Context, tx *Tx) error {
		gone, err = tx.dropFinished(ctx, kind)
		return err
	})
	return gone, err
}
