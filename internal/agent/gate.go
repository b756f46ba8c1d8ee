package agent

import (
	"context"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/policy"
)

// look shows the gate what stands before the scan is applied.
func (c *completion) look(ctx context.Context, project redoubt.Project, scan redoubt.Scan, seen []ingest.Sighting) (err error) {
	reported := make([]policy.Sighting, len(seen))
	for i, s := range seen {
		reported[i] = policy.Sighting{Finding: s.Finding, MatchBasedID: s.Result.MatchBasedID}
	}
	c.judge, err = c.given.Judge(ctx, c.tx, project, scan, reported)
	return err
}
