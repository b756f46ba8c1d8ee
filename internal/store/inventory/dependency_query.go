package inventory

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"math"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

const (
	// contentStep and contentStepMost are the initial and maximum number of lockfile contents read
	// at once. The first ones often fill a page.
	contentStep     = 16
	contentStepMost = 512
)

// dependencyQuery finds the dependencies that match a filter. SQL selects candidate lockfiles and
// their packed contents; the filter is evaluated in Go.
type dependencyQuery struct {
	tx       *Tx
	filter   model.DependencyFilter
	versions *idSet   // matching versions; nil: all
	licences [][]byte // terms of which a license list must contain one; nil: all
	projects []int64  // matching projects; nil: all

	nothing bool // no dependency can match
}

// newDependencyQuery parses a filter and looks up matching versions and projects.
func (tx *Tx) newDependencyQuery(ctx context.Context, f model.DependencyFilter) (*dependencyQuery, error) {
	q := &dependencyQuery{tx: tx, filter: f}
	for _, l := range f.Licenses {
		q.licences = append(q.licences, licenceBytes(l))
	}
	matcher, err := newVersionMatcher(f)
	if err != nil {
		return nil, err
	}
	if matcher != nil {
		if q.versions, err = tx.matchVersions(ctx, matcher); err != nil {
			return nil, err
		}
		q.nothing = q.versions.N == 0
	}
	if q.nothing {
		return q, nil
	}
	return q, q.restrictToProjects(ctx)
}

// restrictToProjects sets the projects that the filter selects and the caller can access.
func (q *dependencyQuery) restrictToProjects(ctx context.Context) error {
	visible, all, err := q.tx.VisibleProjectIDs(ctx, q.filter.Projects)
	switch {
	case err != nil:
		return err
	case all && len(q.filter.ProjectIDs) == 0:
		return nil
	case all:
		q.projects = q.filter.ProjectIDs
	case len(q.filter.ProjectIDs) == 0:
		q.projects = visible
	default:
		q.projects = slices.DeleteFunc(visible, func(id int64) bool { return !slices.Contains(q.filter.ProjectIDs, id) })
	}
	q.nothing = len(q.projects) == 0
	return nil
}

// currentLockfile is a current lockfile that may contain matching dependencies.
type currentLockfile struct {
	inventory, project int64
	first              int64 // lowest id of its dependencies
}

// primaryRef is the primary branch of project p in SQL, as in model.Project.Primary.
var primaryRef = `COALESCE(NULLIF(p.primary_branch, ''), NULLIF(p.default_branch, ''), '` +
	model.Project{}.Default() + `')`

// lockfiles returns the candidate lockfiles that meet a condition on inventory i and content c,
// unsorted. CROSS JOIN forces the join order in SQLite, which skips inventories of other branches.
func (q *dependencyQuery) lockfiles(ctx context.Context, condition string, args ...any) ([]currentLockfile, error) {
	w := sqldb.Where{Tx: q.tx.Tx}
	w.And(condition, args...)
	if q.projects != nil {
		w.In("p.id", q.projects)
	}
	if q.filter.Lockfile != "" {
		w.And(`i.lockfile = ?`, q.filter.Lockfile)
	}
	if q.versions != nil && q.versions.N <= fewIDs {
		in, arg := q.tx.In("d.package_version_id", len(w.Args)+2, q.versions.Few)
		w.Text.WriteString(` AND i.id IN (SELECT d.inventory_id FROM dependency d WHERE d.deployment_id = $1 AND ` + in + `)`)
		w.Args = append(w.Args, arg)
	}
	return sqldb.Many(ctx, q.tx, func(r sqldb.Row) (l currentLockfile, err error) {
		return l, r.Scan(&l.inventory, &l.project, &l.first)
	}, `
		SELECT i.id, p.id, c.first_id
		FROM project p CROSS JOIN inventory i CROSS JOIN inventory_content c
		WHERE p.deployment_id = $1 AND i.deployment_id = p.deployment_id AND i.project_id = p.id AND i.ref = `+primaryRef+`
		AND c.deployment_id = i.deployment_id AND c.inventory_id = i.id`+w.Text.String(), w.Args...)
}

// find returns the first limit matching ids greater than afterID, ascending. limit is at least 1.
// Ids of several lockfiles interleave if one changed after another was stored, so the page ends
// only when all lower ids were read.
func (q *dependencyQuery) find(ctx context.Context, afterID int64, limit int) ([]int64, error) {
	lockfiles, err := q.lockfiles(ctx, `c.last_id > ?`, afterID)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(lockfiles, func(a, b currentLockfile) int { return cmp.Compare(a.first, b.first) })
	var found []int64
	last := int64(math.MaxInt64) // highest id of a full page
	fromLockfile := 0
	for step := contentStep; len(lockfiles) > 0 && lockfiles[0].first <= last; step = min(2*step, contentStepMost) {
		part := lockfiles[:min(step, len(lockfiles))]
		lockfiles = lockfiles[len(part):]
		err := q.each(ctx, part, func(_, id int64) bool {
			if id > afterID && id <= last {
				found = append(found, id)
				fromLockfile++
			}
			return id < last && fromLockfile < limit
		}, func() {
			fromLockfile = 0
			slices.Sort(found)
			if len(found) >= limit {
				found = found[:limit]
				last = found[limit-1]
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// each calls take with the matching dependencies of each lockfile, by id, until take returns false.
// It calls done after each lockfile.
func (q *dependencyQuery) each(
	ctx context.Context, lockfiles []currentLockfile, take func(inventory, id int64) (more bool), done func(),
) error {
	ids := model.Map(lockfiles, func(l currentLockfile) int64 { return l.inventory })
	in, arg := q.tx.In("inventory_id", 2, ids)
	return sqldb.Each(ctx, q.tx, func(r sqldb.Row) error {
		var inventory int64
		var content sql.RawBytes
		if err := r.Scan(&inventory, &content); err != nil {
			return err
		}
		err := EachContent(content, q.isLicensed, func(id, version int64, t model.Transitivity) bool {
			if q.versions != nil && !q.versions.Has(version) || !q.includes(t) {
				return true
			}
			return take(inventory, id)
		})
		done()
		return err
	}, `SELECT inventory_id, content FROM inventory_content WHERE deployment_id = $1 AND `+in, arg)
}

// count counts the matches of each lockfile.
func (q *dependencyQuery) count(ctx context.Context, lockfiles []currentLockfile) (map[int64]int, error) {
	counts := map[int64]int{}
	for part := range slices.Chunk(lockfiles, contentStepMost) {
		err := q.each(ctx, part, func(inventory, _ int64) bool { counts[inventory]++; return true }, func() {})
		if err != nil {
			return nil, err
		}
	}
	return counts, nil
}

// includes reports whether the filter includes the transitivity.
func (q *dependencyQuery) includes(t model.Transitivity) bool {
	return len(q.filter.Transitivities) == 0 ||
		slices.Contains(q.filter.Transitivities, cmp.Or(t, model.TransitivityUnknown))
}

// isLicensed reports whether a list of license terms contains one of the filter's.
func (q *dependencyQuery) isLicensed(terms []byte) bool {
	if len(q.licences) == 0 {
		return true
	}
	for at := 0; at < len(terms); at += licenceTermSize {
		for _, l := range q.licences {
			if bytes.Equal(terms[at:at+licenceTermSize], l) {
				return true
			}
		}
	}
	return false
}
