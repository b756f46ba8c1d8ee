package advisory

import (
	"context"
	"math"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
)

// What one transaction does is bounded, for the deployment's other writers wait for it: it
// ends after so many refs, or with the ref that made so many findings change. Alone a ref
// costs mostly the wait for the database.
const (
	sweepRefs    = 16
	sweepChanges = 500
)

// sweepRows bounds what is read at once, in memory: a ref that has more is read alone.
const sweepRows = 50_000

// turn is what one transaction does.
type turn struct {
	refs    []model.ProjectRef // that it may do
	sizes   []int              // how many rows each has at most
	done    []bool
	moved   map[int64]bool // projects of which a ref changed
	changed int            // findings
}

func newTurn(ctx context.Context, tx SweepTx, refs []model.ProjectRef) (*turn, error) {
	sizes, err := tx.RefSizes(ctx, refs, sweepRows)
	return &turn{refs: refs, sizes: sizes, done: make([]bool, len(refs)), moved: map[int64]bool{}}, err
}

// next are the places of the refs that follow together next. Those go first that wait
// before one that is done, so that what a turn does are the first refs; nothing comes behind
// them once enough findings changed. Of a project of which a ref changed it is one: the
// others are to be read after it.
func (t *turn) next(together int) (places []int) {
	end, rows, taken := len(t.refs), 0, map[int64]bool{}
	if through := t.through(); t.enough() || slices.Contains(t.done[:through], false) {
		end = through
	}
	for i, at := range t.refs[:end] {
		if t.done[i] || taken[at.ProjectID] {
			continue
		}
		if rows += t.sizes[i]; len(places) == together || len(places) > 0 && rows > sweepRows {
			break
		}
		places = append(places, i)
		taken[at.ProjectID] = t.moved[at.ProjectID]
	}
	return places
}

func (t *turn) enough() bool { return t.changed >= sweepChanges }

// most is with how many more findings the turn has enough. Those that wait before one that
// is done were counted with it.
func (t *turn) most() int {
	if t.enough() {
		return math.MaxInt
	}
	return sweepChanges - t.changed
}

// through is how many refs there are up to the last that is done.
func (t *turn) through() int {
	for i, done := range slices.Backward(t.done) {
		if done {
			return i + 1
		}
	}
	return 0
}

// round has the refs at some places follow a version of the advisories.
func (s *Sweep[T]) round(ctx context.Context, tx T, t *turn, places []int, scope *Scope, version int64) error {
	refs := model.Map(places, func(place int) model.ProjectRef { return t.refs[place] })
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
		t.done[places[i]] = true
		if t.changed += f.Changed; f.Changed > 0 {
			t.moved[refs[i].ProjectID] = true
			tx.AuditFollowed(refs[i], version, f.Changed)
		}
	}
	return nil
}
