package index

import (
	"context"
	"errors"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
)

// bereft is a source that omits lineages from the given number of feeds.
type bereft struct {
	*world
	times int
}

func (s *bereft) Feed(ctx context.Context, deployment, since int64, handle func(*model.Batch) error) (int64, bool, error) {
	s.times--
	return s.world.Feed(ctx, deployment, since, func(b *model.Batch) error {
		if s.times >= 0 {
			b.Lineages = nil
		}
		return handle(b)
	})
}

// TestFindingsWithoutLineage checks findings that arrive before their lineage. They are an error
// in a complete feed, and cause a rebuild in a feed of changes.
func TestFindingsWithoutLineage(t *testing.T) {
	s := &bereft{world: newWorld(), times: 1}
	seed(s.world)
	add(s.world, smallBody, span(1, 10)...)
	x := New(s, Options{BodyCache: 1 << 20})
	if _, err := x.Deployment(t.Context(), tenant); !errors.Is(err, model.ErrDamaged) {
		t.Fatalf("error = %v, want that of damage", err)
	}
	view(t, x)
	add(s.world, smallBody, span(11, 20)...)
	s.times = 1
	if n := view(t, x).Count(model.FindingFilter{IssueType: model.SAST}); n == 0 {
		t.Error("a change that does not fit leaves nothing")
	}
	add(s.world, smallBody, span(21, 30)...)
	s.times = 2
	if _, err := x.Deployment(t.Context(), tenant); !errors.Is(err, model.ErrDamaged) {
		t.Fatalf("error = %v, want that of damage", err)
	}
}
