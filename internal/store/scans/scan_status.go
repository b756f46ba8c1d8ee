package scans

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/queue"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// StatusJob is the kind of job that sends the status of a commit to a code host.
const StatusJob = "tell"

// StatusUpdate is the input of a StatusJob. The status covers all runs and scans of the commit.
type StatusUpdate struct {
	ProjectID int64  `json:"project"`
	Commit    string `json:"commit"`
}

// EnqueueStatusUpdate queues the status update of a commit, if the project's code host supports
// statuses.
func (tx *Tx) EnqueueStatusUpdate(ctx context.Context, projectID int64, commit string) error {
	if commit == "" {
		return nil
	}
	if has, err := tx.hasStatusHost(ctx); err != nil || !has {
		return err
	}
	list, err := sqldb.Many(ctx, tx, sqldb.Scalar[string], `SELECT c.base_url FROM repository r
		JOIN connection c ON c.deployment_id = r.deployment_id AND c.id = r.connection_id
		WHERE r.deployment_id = $1 AND r.project_id = $2 AND c.kind <> $3`, projectID, int64(model.HostGit))
	if err != nil || len(list) == 0 {
		return err
	}
	input, err := json.Marshal(StatusUpdate{ProjectID: projectID, Commit: commit})
	if err != nil {
		return err
	}
	_, err = tx.Enqueue(ctx, model.Job{
		Kind: StatusJob, Subject: fmt.Sprintf("%d %s", projectID, commit), Key: queue.HostKey(list[0]), Input: input,
	})
	return err
}

// enqueueScanUpdate is EnqueueStatusUpdate for the commit of a scan.
func (tx *Tx) enqueueScanUpdate(ctx context.Context, scanID int64) error {
	if has, err := tx.hasStatusHost(ctx); err != nil || !has {
		return err
	}
	scan, err := tx.Scan(ctx, scanID)
	if errors.Is(err, model.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return tx.EnqueueStatusUpdate(ctx, scan.ProjectID, scan.Commit)
}

// hasStatusHost reports whether the deployment has a code host that supports statuses.
func (tx *Tx) hasStatusHost(ctx context.Context) (bool, error) {
	some, err := sqldb.Many(ctx, tx, sqldb.Scalar[int64],
		`SELECT id FROM connection WHERE deployment_id = $1 AND kind <> $2 ORDER BY id LIMIT 1`, int64(model.HostGit))
	return len(some) > 0, err
}
