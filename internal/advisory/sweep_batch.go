package advisory

import (
	"context"
	"math"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
)

// Limits of one transaction, because it blocks other writers of the deployment. It ends after
// sweepRefs refs, or with the ref that reaches sweepChanges changed findings. A single ref costs
// mostly the latency of the database.
const (
	sweepRefs    = 16
	sweepChanges = 500
)

// sweepRows limits the rows that are read at once into memory. A larger ref is read alone.
const sweepRows = 50_000

// batch is the work of one transaction.
type batch struct {
	refs    []model.ProjectRef // candidates
	sizes   []int              // upper bound of the rows of each
	done    []bool
	moved   map[int64]bool // projects with a changed ref
	changed int            // number of changed findings
}

func newBatch(ctx context.Context, tx SweepTx, refs []model.ProjectRef) (*batch, error) {
	sizes, err := tx.RefSizes(ctx, refs, sweepRows)
	return &batch{refs: refs, sizes: sizes, done: make([]bool, len(refs)), moved: map[int64]bool{}}, err
}

// next returns the indexes of the refs that are matched together next. Postponed refs before a
// completed one come first, so that completed refs always form a prefix. Later refs are excluded
// once enough findings changed. A project with a changed ref gets only one, because its other refs
// must be read afterwards.
func (t *batch) next(together int) (indexes []int) {
	end, rows, excluded := len(t.refs), 0, map[int64]bool{}
	if through := t.through(); t.enough() || slices.Contains(t.done[:through], false) {
		end = through
	}
	for i, at := range t.refs[:end] {
		if t.done[i] || excluded[at.ProjectID] {
			continue
		}
		if rows += t.sizes[i]; len(indexes) == together || len(indexes) > 0 && rows > sweepRows {
			break
		}
		indexes = append(indexes, i)
		excluded[at.ProjectID] = t.moved[at.ProjectID]
	}
	return indexes
}

func (t *batch) enough() bool { return t.changed >= sweepChanges }

// most returns the number of changed findings after which this part of the sweep ends. It is unlimited for
// postponed refs before a completed one, which were already counted.
func (t *batch) most() int {
	if t.enough() {
		return math.MaxInt
	}
	return sweepChanges - t.changed
}

// through returns the number of refs up to the last completed one.
func (t *batch) through() int {
	for i, done := range slices.Backward(t.done) {
		if done {
			return i + 1
		}
	}
	return 0
}

// round updates the refs at some indexes to a version of the advisories.
func (s *Sweep[T]) round(ctx context.Context, tx T, t *batch, indexes []int, scope *Scope, version int64) error {
	refs := model.Map(indexes, func(i int) model.ProjectRef { return t.refs[i] })
	advised, err := s.Library.MatchAll(ctx, tx, refs, scope)
	if err != nil {
		return err
	}
	followed, err := s.Follow(ctx, tx, advised, t.most())
	if err != nil {
		return err
	}
	for i, f := range followed {
		if !f.Done {
			continue
		}
		t.done[indexes[i]] = true
		if t.changed += f.Changed; f.Changed > 0 {
			t.moved[refs[i].ProjectID] = true
			tx.AuditFollowed(refs[i], version, f.Changed)
		}
	}
	return nil
}
