package scans

import (
	"context"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/gate"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/store"
)

// importGate judges the reports of an upload as scans are judged that report by
// themselves (docs/reference/policies.md).
type importGate struct {
	tx     *store.Tx
	given  *policy.EffectivePolicy // to the project, with the rules of all reports seen
	rules  map[string]bool         // of these reports
	judges []*policy.Judge
}

// inspect shows the gate what stands before a report is applied.
func (g *importGate) inspect(
	ctx context.Context, project model.Project, scan model.Scan, seen []ingest.Sighting,
) error {
	if g.addsRules(seen) || g.given == nil {
		given, err := policy.LoadEffectivePolicy(ctx, g.tx, project)
		if err != nil {
			return err
		}
		g.given = &given
	}
	return g.Judge(ctx, project, scan, seen)
}

// Judged implements gate.IdenticalGate.
func (g *importGate) Judged(
	ctx context.Context, project model.Project, ref string,
) (rules []string, products []model.IssueType, err error) {
	given, err := policy.LoadEffectivePolicy(ctx, g.tx, project)
	if err != nil {
		return nil, nil, err
	}
	g.given = &given
	rules, products = given.Judged(ref)
	return rules, products, nil
}

// Judge implements gate.IdenticalGate.
func (g *importGate) Judge(ctx context.Context, project model.Project, scan model.Scan, seen []ingest.Sighting) error {
	judge, err := gate.Judge(ctx, g.tx, g.given, project, scan, seen)
	g.judges = append(g.judges, judge)
	return err
}

// addsRules reports whether a report names rules that none before it in the upload did: they
// are known with the report, and policies may block on them from then on.
func (g *importGate) addsRules(seen []ingest.Sighting) (fresh bool) {
	if g.rules == nil {
		g.rules = map[string]bool{}
	}
	for i := range seen {
		name := seen[i].Finding.RuleName
		fresh = fresh || !g.rules[name]
		g.rules[name] = true
	}
	return fresh
}

// answer judges once all reports are applied.
func (g *importGate) answer(ctx context.Context, summaries []ingest.Summary) (api.ImportGate, error) {
	verdicts := make([]policy.Verdict, len(g.judges))
	for i, judge := range g.judges {
		var err error
		if verdicts[i], err = gate.Verdict(ctx, judge, &summaries[i]); err != nil {
			return api.ImportGate{}, err
		}
		if err := g.tx.PutScanGate(ctx, summaries[i].ScanID, verdicts[i].Record()); err != nil {
			return api.ImportGate{}, err
		}
	}
	return gate.Answer(summaries, verdicts), nil
}
