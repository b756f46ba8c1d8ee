package policy

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// Match is a stored finding that matches a condition.
type Match struct {
	Sighting
	Ref   string
	Fails bool // it would fail a build
}

// MatchStorage is the storage that FindMatches reads.
type MatchStorage interface {
	GateStorage
	HoldingRefs(ctx context.Context, packages []int64) ([]model.ProjectRef, error)
	CurrentScans(ctx context.Context, since time.Time, projects []int64, limit int) (_ []model.Scan, more bool, err error)
}

// maxStreams is the maximum number of branches and sources of a project.
const maxStreams = 10_000

// FindMatches returns the distinct findings of a project on all branches that match the conditions
// of a policy. Findings from lockfiles do not require a scan. A nonzero mode replaces the modes of
// the conditions.
func FindMatches(
	ctx context.Context, s MatchStorage, project model.Project, p model.Policy, mode model.PolicyMode,
) (list []Match, err error) {
	var scans []model.Scan
	if p.Product == model.SCA {
		refs, err := s.HoldingRefs(ctx, nil)
		if err != nil {
			return nil, err
		}
		for _, at := range refs {
			if at.ProjectID == project.ID {
				scans = append(scans, model.Scan{ProjectID: at.ProjectID, Ref: at.Ref, Source: Source})
			}
		}
	}
	newest, _, err := s.CurrentScans(ctx, time.Unix(0, 0), []int64{project.ID}, maxStreams)
	if err != nil {
		return nil, err
	}
	all := p
	all.Conditions, all.Excludes = slices.Clone(p.Conditions), nil
	for i := range all.Conditions {
		all.Conditions[i].Mode = cmp.Or(mode, all.Conditions[i].Mode)
	}
	all.BlockAll = true // include findings that are on the primary branch
	given := For(project, []model.Policy{all}, nil)
	listed := map[int64]bool{}
	for _, scan := range append(scans, newest...) {
		scan.Products = model.Products(0).With(p.Product)
		open, err := s.OpenFindings(ctx, project.ID, scan.Ref, scan.Source)
		if err != nil {
			return nil, err
		}
		open = slices.DeleteFunc(open, func(f model.Finding) bool { return f.IssueType != p.Product })
		found, err := StoredFindings(ctx, s, project, scan, open, given)
		if err != nil {
			return nil, err
		}
		outcome := Evaluate(found, given)
		for _, match := range slices.Concat(outcome.Blocking, outcome.Noted) {
			if !listed[match.Finding.ID] {
				listed[match.Finding.ID] = true
				fails := match.Mode == model.ModeBlock && (!match.Known || p.BlockAll)
				list = append(list, Match{match, scan.Ref, fails})
			}
		}
	}
	return list, nil
}
