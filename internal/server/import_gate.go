package server

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/gate"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/store"
)

// importGate judges the reports of an upload as scans are judged that report by
// themselves (semantics §10).
type importGate struct {
	tx     *store.Tx
	given  *policy.EffectivePolicy // to the project, with the rules of all reports seen
	rules  map[string]bool         // of these reports
	judges []*policy.Judge
}

// look shows the gate what stands before a report is applied.
func (g *importGate) look(ctx context.Context, project model.Project, scan model.Scan, seen []ingest.Sighting) error {
	if g.hears(seen) || g.given == nil {
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

// hears reports whether a report names rules that none before it in the upload did: they
// are known with the report, and policies may block on them from then on.
func (g *importGate) hears(seen []ingest.Sighting) (fresh bool) {
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
	return gateAnswer(summaries, verdicts), nil
}

// gateAnswer says what the verdicts on an upload's reports come to. A finding of
// the advisories is seen with every report, and told once.
func gateAnswer(summaries []ingest.Summary, verdicts []policy.Verdict) api.ImportGate {
	changes := map[int64]ingest.ItemChange{}
	note := func(items []ingest.Item) {
		for _, item := range items {
			changes[item.FindingID] = item.Change
		}
	}
	for _, s := range summaries {
		note(s.Items)
		if s.Followed != nil {
			note(s.Followed.Items)
		}
	}
	out := api.ImportGate{Blocking: []api.ImportItem{}, Noted: []api.ImportItem{}, BlockingScans: []string{}}
	var reasons []string
	told := map[int64]bool{}
	tell := func(list *[]api.ImportItem, sightings []policy.Sighting) {
		for i := range sightings {
			s, f := &sightings[i], &sightings[i].Finding
			if f.ID != 0 && told[f.ID] {
				continue
			}
			told[f.ID] = true
			*list = append(*list, api.ImportItem{
				FindingID: f.ID, Rule: f.RuleName, Path: f.Path, Line: f.Line,
				Change:    string(cmp.Or(changes[f.ID], ingest.ItemUnchanged)),
				Condition: s.Condition, Mode: s.Mode.String(), Text: s.Explained(),
			})
		}
	}
	for i, verdict := range verdicts {
		if len(verdict.Blocking) > 0 {
			out.BlockingScans = append(out.BlockingScans, decimal(summaries[i].ScanID))
		}
		before := len(out.Blocking)
		tell(&out.Blocking, verdict.Blocking)
		if len(out.Blocking) > before {
			reasons = append(reasons, verdict.Reason)
		}
	}
	for _, verdict := range verdicts {
		tell(&out.Noted, verdict.Noted)
	}
	out.Blocked, out.Reason = len(out.Blocking) > 0, strings.Join(reasons, " ")
	return out
}

// maxTold bounds how many findings of each kind the outcome of a scan names.
const maxTold = 1000

// ScanAnswer says of a scan that reported by itself what is said of an import,
// as JSON, with the first of its findings.
func ScanAnswer(summary ingest.Summary, verdict policy.Verdict) ([]byte, error) {
	summaries := []ingest.Summary{summary}
	out := ImportAnswer(summaries)
	out.Gate = gateAnswer(summaries, []policy.Verdict{verdict})
	told := &out.Imports[0]
	for _, list := range []*[]api.ImportItem{&told.Items, &told.Advised, &out.Gate.Blocking, &out.Gate.Noted} {
		*list = (*list)[:min(len(*list), maxTold)]
	}
	return json.Marshal(out)
}
