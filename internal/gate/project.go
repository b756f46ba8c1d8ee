package gate

import (
	"context"

	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/store"
)

// VisibleProject answers as if a project that a token's globs leave out did not exist. It
// takes what looking for the project answered.
func VisibleProject(globs model.ProjectGlobs, p model.Project, err error) (model.Project, error) {
	if err == nil && !globs.Allows(p.Name) {
		return model.Project{}, model.ErrNotFound
	}
	return p, err
}

// CanUseProject refuses a name that a token's globs leave out, as if there were none.
// One that they allow may be taken, though it be an old name of a project that
// they leave out: that is not there for the token (docs/reference/tokens.md).
func CanUseProject(globs model.ProjectGlobs, name string) error {
	if !globs.Allows(name) {
		return model.ErrNotFound
	}
	return nil
}

// Policies reads policies, and the projects that they are for.
type Policies interface {
	Projects(ctx context.Context, q store.ProjectQuery) ([]model.Project, error)
	Policies(ctx context.Context) ([]model.Policy, error)
	Policy(ctx context.Context, id int64) (model.Policy, error)
}

// SeenPolicies lists the policies that a token bound by globs may see: those that
// cover one of its projects, without what they say of others.
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

// SeenPolicy is the one of them that has the id, or model.ErrNotFound.
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

// Judge shows the gate what stands before a report is applied.
func Judge(
	ctx context.Context, tx *store.Tx, effective *policy.EffectivePolicy,
	project model.Project, scan model.Scan, seen []ingest.Sighting,
) (*policy.Judge, error) {
	return effective.Judge(ctx, tx, project, scan, reported(seen))
}

// Verdict judges once the scan is applied, or recorded, by what came of it.
func Verdict(ctx context.Context, judge *policy.Judge, summary *ingest.Summary) (policy.Verdict, error) {
	judge.Rename(summary.Became)
	judge.MarkCopies(summary.Copies)
	judge.Advise(reported(summary.Advised))
	outcome, err := judge.Outcome(ctx, summary.Outcome)
	return outcome.Verdict, err
}

// reported is what a report has, as the gate sees it.
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
