package agent

import (
	"context"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/store"
)

// gate judges a scan by what the primary branch had before it (decisions §10).
type gate struct {
	tx        *store.Tx
	projectID int64
	given     policy.Given
	first     bool               // the scan is the first one of the primary branch
	before    []redoubt.Identity // what the primary branch had
	sightings []ingest.Sighting  // of blocking rules
}

// newGate looks at what stands before the scan is applied.
func newGate(ctx context.Context, c *completion, project redoubt.Project) (*gate, error) {
	g := &gate{tx: c.tx, projectID: project.ID, given: c.given}
	seen, _ := ingest.Observe(c.rep)
	for _, s := range seen {
		if g.given.Stance(s.Finding.RuleName).Mode == redoubt.ModeBlock {
			g.sightings = append(g.sightings, s)
		}
	}
	if len(g.sightings) == 0 {
		return g, nil
	}
	primary := policy.PrimaryAfter(project, c.scan)
	stream, err := c.tx.Stream(ctx, project.ID, primary, c.scan.Source, "")
	if err != nil {
		return nil, err
	}
	g.first = c.scan.Ref == primary && stream.LastFullStart.IsZero()
	rows, err := c.tx.Findings(ctx, project.ID, primary, c.scan.Source)
	for i := range rows {
		if rows[i].State == redoubt.Unresolved || rows[i].State == redoubt.Muted {
			g.before = append(g.before, rows[i].Identity)
		}
	}
	return g, err
}

// verdict judges once the scan is applied, when every finding has its lineage.
func (g *gate) verdict(ctx context.Context) (policy.Verdict, error) {
	if len(g.sightings) == 0 {
		return policy.Verdict{}, nil
	}
	had, err := g.tx.LineagesOf(ctx, g.projectID, g.before)
	if err != nil {
		return policy.Verdict{}, err
	}
	known := make(map[int64]bool, len(had))
	for _, lineage := range had {
		known[lineage.ID] = true
	}
	ids := make([]redoubt.Identity, len(g.sightings))
	for i := range g.sightings {
		ids[i] = g.sightings[i].Finding.Identity
	}
	lineages, err := g.tx.LineagesOf(ctx, g.projectID, ids)
	if err != nil {
		return policy.Verdict{}, err
	}
	judged := make([]policy.Sighting, len(g.sightings))
	for i, s := range g.sightings {
		lineage := lineages[s.Finding.Identity]
		judged[i] = policy.Sighting{
			Finding: s.Finding, MatchBasedID: s.Result.MatchBasedID, Triage: lineage.Triage.State, Known: known[lineage.ID],
		}
	}
	return g.given.Gate(g.first, judged), nil
}
