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

// importGate evaluates the policies for the reports of an upload like those of scanners that report
// directly (docs/reference/policies.md).
type importGate struct {
	tx     *store.Tx
	given  *policy.EffectivePolicy // policy of the project, with the rules of the reports seen so far
	rules  map[string]bool         // rules of these reports
	judges []*policy.Judge
}

// inspect evaluates a report before it is applied.
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

// addsRules reports whether a report contains rules that no earlier report of the upload contains.
// Policies may block on them from then on.
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

// answer computes the result after all reports were applied.
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
