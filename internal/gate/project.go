package gate

import (
	"context"

	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/store"
)

// VisibleProject returns model.ErrNotFound for a project that a token's globs exclude. p and err
// are the results of the lookup.
func VisibleProject(globs model.ProjectGlobs, p model.Project, err error) (model.Project, error) {
	if err == nil && !globs.Allows(p.Name) {
		return model.Project{}, model.ErrNotFound
	}
	return p, err
}

// CanUseProject returns model.ErrNotFound for a name that a token's globs exclude. An allowed name
// may be used even if it is a previous name of an excluded project, which is invisible to the token
// (docs/reference/tokens.md).
func CanUseProject(globs model.ProjectGlobs, name string) error {
	if !globs.Allows(name) {
		return model.ErrNotFound
	}
	return nil
}

// Policies reads policies and their projects.
type Policies interface {
	Projects(ctx context.Context, q store.ProjectQuery) ([]model.Project, error)
	Policies(ctx context.Context) ([]model.Policy, error)
	Policy(ctx context.Context, id int64) (model.Policy, error)
}

// SeenPolicies returns the policies that are visible to a token with globs: those that cover one of
// its projects. Parts about other projects are removed.
func SeenPolicies(ctx context.Context, s Policies, globs model.ProjectGlobs) ([]model.Policy, error) {
	all, err := s.Policies(ctx)
	if err != nil || len(globs) == 0 {
		return all, err
	}
	own, err := s.Projects(ctx, store.ProjectQuery{Globs: globs})
	var seen []model.Policy
	for _, p := range all {
		if p, covers := p.Of(own); covers {
			seen = append(seen, p)
		}
	}
	return seen, err
}

// SeenPolicy returns the visible policy with the id, or model.ErrNotFound.
func SeenPolicy(ctx context.Context, s Policies, globs model.ProjectGlobs, id int64) (model.Policy, error) {
	p, err := s.Policy(ctx, id)
	if err != nil || len(globs) == 0 {
		return p, err
	}
	own, err := s.Projects(ctx, store.ProjectQuery{Globs: globs})
	if err != nil {
		return p, err
	}
	p, covers := p.Of(own)
	if !covers {
		return p, model.ErrNotFound
	}
	return p, nil
}

// Judge evaluates the policies for a report before it is applied.
func Judge(
	ctx context.Context, tx *store.Tx, effective *policy.EffectivePolicy,
	project model.Project, scan model.Scan, seen []ingest.Sighting,
) (*policy.Judge, error) {
	return effective.Judge(ctx, tx, project, scan, reported(seen))
}

// Verdict completes the evaluation after the scan was applied or recorded.
func Verdict(ctx context.Context, judge *policy.Judge, summary *ingest.Summary) (policy.Verdict, error) {
	judge.Rename(summary.StoredAs)
	judge.MarkCopies(summary.Copies)
	judge.Advise(reported(summary.Advised))
	outcome, err := judge.Outcome(ctx, summary.Outcome)
	return outcome.Verdict, err
}

// reported converts the results of a report for the gate.
func reported(seen []ingest.Sighting) []policy.Sighting {
	out := make([]policy.Sighting, len(seen))
	for i, s := range seen {
		out[i] = policy.Sighting{Finding: s.Finding, MatchBasedID: s.Result.MatchBasedID, Proposed: s.Proposed}
		if d := s.Result.Dependency; d != nil {
			out[i].Unrated = d.Unrated
			out[i].Supply = model.SupplyFacts{
				Package: d.Package, Version: d.Version, Vulnerability: d.Vulnerability, Fixes: d.Fixes, EPSS: d.EPSS,
			}
		}
	}
	return out
}
