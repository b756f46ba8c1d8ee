package store

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/redoubt/redoubt"
)

// dependencyQuery finds the rows of dependencies that a filter keeps. SQL finds
// candidates, by the few lockfiles or versions they can be of or else all in
// turn; whether a candidate is kept is decided here, once.
type dependencyQuery struct {
	tx       *Tx
	filter   redoubt.DependencyFilter
	versions map[int64]bool  // that pass; nil for all
	places   map[int64]place // of the inventories met so far
	licensed map[string]bool // whether a row's licences pass, as met so far

	nothing   bool   // no row can pass
	condition string // that candidates meet
	args      []any  // of the condition, from $4
}

// newDependencyQuery reads a filter and looks for what its rows are found by.
func (tx *Tx) newDependencyQuery(ctx context.Context, f redoubt.DependencyFilter) (*dependencyQuery, error) {
	q := &dependencyQuery{tx: tx, filter: f, places: map[int64]place{}, licensed: map[string]bool{}}
	matcher, err := newVersionMatcher(f)
	if err != nil {
		return nil, err
	}
	if matcher != nil {
		if q.versions, err = tx.matchVersions(ctx, matcher); err != nil {
			return nil, err
		}
		q.nothing = len(q.versions) == 0
		if len(q.versions) <= drivingVersions {
			q.restrictTo("package_version_id", slices.Sorted(maps.Keys(q.versions)))
		}
	}
	if q.nothing {
		return q, nil
	}
	return q, q.restrictToLockfiles(ctx)
}

// restrictTo lets candidates be looked up by a set of ids.
func (q *dependencyQuery) restrictTo(column string, ids []int64) {
	in, arg := q.tx.in(column, len(q.args)+4, ids)
	q.condition += " AND " + in
	q.args = append(q.args, arg)
}

// restrictToLockfiles looks candidates up by their lockfiles, where the filter names
// projects or a lockfile, and these are few.
func (q *dependencyQuery) restrictToLockfiles(ctx context.Context) error {
	projects, err := q.projects(ctx)
	if err != nil || q.nothing || len(projects) > drivingInventories || len(projects) == 0 && q.filter.Lockfile == "" {
		return err
	}
	var condition string
	var args []any
	if len(projects) > 0 {
		in, arg := q.tx.in("i.project_id", 2, projects)
		condition, args = "AND "+in, append(args, arg)
	} else {
		condition, args = "AND i.lockfile = $2", append(args, q.filter.Lockfile)
	}
	places, err := q.tx.places(ctx, condition, args...)
	if err != nil {
		return err
	}
	maps.DeleteFunc(places, func(_ int64, p place) bool { return !q.acceptsPlace(p) })
	q.nothing = len(places) == 0
	if len(places) <= drivingInventories {
		q.restrictTo("inventory_id", slices.Sorted(maps.Keys(places)))
	}
	return nil
}

// projects lists those that the filter restricts to; none when it does not.
func (q *dependencyQuery) projects(ctx context.Context) ([]int64, error) {
	if len(q.filter.ProjectIDs) > 0 {
		return q.filter.ProjectIDs, nil
	}
	ids, all, err := q.tx.visibleProjectIDs(ctx, q.filter.Projects)
	q.nothing = q.nothing || !all && len(ids) == 0
	return ids, err
}

// read returns the next candidates by id. Where there is something to look them
// up by, the + keeps the engines from walking by id all the same.
func (q *dependencyQuery) read(ctx context.Context, afterID int64, limit int) ([]dependencyRow, error) {
	key := "id"
	if q.condition != "" {
		key = "+id"
	}
	return many(ctx, q.tx, scanDependencyRow, `SELECT `+dependencyColumns+` FROM dependency
		WHERE deployment_id = $1 AND `+key+` > $2`+q.condition+` ORDER BY `+key+` LIMIT $3`, append([]any{afterID, limit}, q.args...)...)
}

// keep returns the candidates that pass.
func (q *dependencyQuery) keep(ctx context.Context, candidates []dependencyRow) ([]dependencyRow, error) {
	if err := q.locate(ctx, candidates); err != nil {
		return nil, err
	}
	var kept []dependencyRow
	for _, r := range candidates {
		if (q.versions == nil || q.versions[r.version]) && q.isAskedFor(r.transitivity) && q.acceptsPlace(q.places[r.inventory]) {
			licensed, err := q.isLicensed(r.licenses)
			if err != nil {
				return nil, err
			}
			if licensed {
				kept = append(kept, r)
			}
		}
	}
	return kept, nil
}

// isAskedFor reports whether dependencies of the kind pass.
func (q *dependencyQuery) isAskedFor(t redoubt.Transitivity) bool {
	return len(q.filter.Transitivities) == 0 || slices.Contains(q.filter.Transitivities, cmp.Or(t, redoubt.TransitivityUnknown))
}

// locate reads the places of candidates that were not met before.
func (q *dependencyQuery) locate(ctx context.Context, candidates []dependencyRow) error {
	unknown := map[int64]bool{}
	for _, r := range candidates {
		if _, met := q.places[r.inventory]; !met {
			unknown[r.inventory] = true
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	in, arg := q.tx.in("i.id", 2, slices.Sorted(maps.Keys(unknown)))
	places, err := q.tx.places(ctx, "AND "+in, arg)
	maps.Copy(q.places, places)
	return err
}

// acceptsPlace reports whether the dependencies of a place may pass.
func (q *dependencyQuery) acceptsPlace(p place) bool {
	f := q.filter
	return p.inForce() && f.Projects.Allows(p.project.Name) &&
		(f.Lockfile == "" || f.Lockfile == p.lockfile) &&
		(len(f.ProjectIDs) == 0 || slices.Contains(f.ProjectIDs, p.project.ID))
}

// isLicensed reports whether licences, as a row holds them, pass: one of them is
// or names one of the filter's.
func (q *dependencyQuery) isLicensed(licenses string) (bool, error) {
	if len(q.filter.Licenses) == 0 {
		return true, nil
	}
	if passes, met := q.licensed[licenses]; met {
		return passes, nil
	}
	var expressions []string
	if err := json.Unmarshal([]byte(licenses), &expressions); err != nil {
		return false, err
	}
	passes := slices.ContainsFunc(expressions, func(expression string) bool {
		return slices.ContainsFunc(q.filter.Licenses, func(l string) bool { return hasLicence(expression, l) })
	})
	q.licensed[licenses] = passes
	return passes, nil
}
