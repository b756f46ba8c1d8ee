package policy

import (
	"context"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
)

// Unmatched describes branch globs of a policy that match no scanned ref. Usually they are
// misspelled.
type Unmatched struct {
	Globs []string // globs that match no ref
	Refs  []string // existing refs, most recently scanned first; at most maxRefsNamed
	More  int      // number of omitted refs
}

// maxRefsNamed is the maximum number of refs to list.
const maxRefsNamed = 10

// RefStorage is the storage that UnmatchedBranches reads.
type RefStorage interface {
	VisibleProjects(ctx context.Context, globs model.ProjectGlobs) ([]model.Project, error)
	// ScannedRefs returns the distinct refs with applied scans, most recently scanned first. Nil
	// projects means all.
	ScannedRefs(ctx context.Context, projects []int64) ([]string, error)
}

// UnmatchedBranches returns the branch globs of a policy that match no ref of its projects. It
// returns nothing if there are no applied scans.
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
