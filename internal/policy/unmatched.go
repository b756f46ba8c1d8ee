package policy

import (
	"context"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
)

// Unmatched tells of branches of a policy that fit nothing that was ever scanned: of a name
// that is misspelt, more often than of a branch that is still to come.
type Unmatched struct {
	Globs []string // that fit no ref
	Refs  []string // that there are, in full, those that were scanned last first; of maxRefsNamed at most
	More  int      // refs that are not named
}

// maxRefsNamed is how many refs are named beside what fits none.
const maxRefsNamed = 10

// RefStorage is what UnmatchedBranches reads.
type RefStorage interface {
	VisibleProjects(ctx context.Context, globs model.ProjectGlobs) ([]model.Project, error)
	// ScannedRefs lists the refs that scans of some projects were applied to, each once, the
	// one that was scanned last first. Nil projects are all.
	ScannedRefs(ctx context.Context, projects []int64) ([]string, error)
}

// UnmatchedBranches tells which branches of a policy fit no ref of its projects. Where no scan
// was applied yet there is nothing to compare with, and nothing is told.
func UnmatchedBranches(ctx context.Context, s RefStorage, p model.Policy) (out Unmatched, err error) {
	if len(p.Branches) == 0 {
		return out, nil
	}
	list, err := s.VisibleProjects(ctx, nil)
	if err != nil {
		return out, err
	}
	var in []int64
	for _, one := range list {
		if p.Scope.Covers(one) {
			in = append(in, one.ID)
		}
	}
	if len(in) == 0 {
		return out, nil
	}
	if len(in) == len(list) {
		in = nil
	}
	refs, err := s.ScannedRefs(ctx, in)
	if err != nil || len(refs) == 0 {
		return out, err
	}
	for _, glob := range p.Branches {
		if !slices.ContainsFunc(refs, func(ref string) bool { return model.CoversRef(model.ProjectGlobs{glob}, ref) }) {
			out.Globs = append(out.Globs, glob)
		}
	}
	if len(out.Globs) > 0 {
		named := min(len(refs), maxRefsNamed)
		out.Refs, out.More = refs[:named], len(refs)-named
	}
	return out, nil
}
