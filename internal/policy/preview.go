package policy

import (
	"cmp"
	"context"
	"slices"

	"github.com/redoubt/redoubt"
)

// Preview is what the gate says to a scan, with what it says it of.
type Preview struct {
	Verdict
	// Judged has all that the scan reports by its own identities, each with its lineage's triage and
	// whether the primary branch has it, whether a policy fails builds on it or not.
	Judged map[redoubt.Identity]Sighting
}

// Previewer judges a scan as Judge does, and tells of all that it reports.
type Previewer struct{ judge *Judge }

// Previewer looks at what stands before a scan is applied, and at what it reports.
func (e EffectivePolicy) Previewer(ctx context.Context, s GateStorage, project redoubt.Project, scan redoubt.Scan, reported []Sighting) (*Previewer, error) {
	judge, err := e.judge(ctx, s, project, scan, reported, true)
	return &Previewer{judge}, err
}

// Advise is that of Judge.
func (p *Previewer) Advise(own []Sighting) { p.judge.Advise(own) }

// Rename is that of Judge.
func (p *Previewer) Rename(became map[redoubt.Identity]redoubt.KnownAs) { p.judge.Rename(became) }

// Part is that of Judge.
func (p *Previewer) Part(copies []redoubt.Identity) { p.judge.Part(copies) }

// Preview judges once the scan is applied, in a transaction that need not be
// committed. What the gate judges it judges alone, so that its verdict is what
// Verdict says.
func (p *Previewer) Preview(ctx context.Context, outcome redoubt.ScanOutcome) (Preview, error) {
	judged, err := p.judge.facts(ctx, outcome)
	if err != nil {
		return Preview{}, err
	}
	others := slices.Clone(p.judge.others)
	if len(others) > 0 {
		if err := p.judge.fill(ctx, others); err != nil {
			return Preview{}, err
		}
	}
	out := Preview{Judged: make(map[redoubt.Identity]Sighting, len(judged)+len(others))}
	for _, s := range slices.Concat(judged, others) {
		out.Judged[cmp.Or(s.told, s.Finding.Identity)] = s
	}
	if !outcome.Recorded() || p.judge.scan.Ref != p.judge.primary {
		out.Verdict = p.judge.verdict(judged, outcome)
	}
	return out, nil
}
