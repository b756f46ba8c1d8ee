package index

import (
	"fmt"
	"slices"
	"testing"

	"github.com/redoubt/redoubt"
)

// A replica that is lost while it is read is no error: what it handed over is void.
func TestALostReplicaIsReadAnew(t *testing.T) {
	s := &broken{world: newWorld(), after: 2, with: fmt.Errorf("%w: it is gone", redoubt.ErrReplicaLost)}
	seed(s.world)
	add(s.world, smallBody, span(1, 10)...)
	x := New(s, Options{BodyCache: 1 << 20})
	for last := int64(10); last <= 30; last += 10 { // a load, and then what changed
		want := span(1, last)
		slices.Reverse(want)
		if got := ids(t, view(t, x), 0, 100); !slices.Equal(got, want) {
			t.Errorf("list = %v, want %v", got, want)
		}
		if s.after >= 0 {
			t.Error("nothing was lost")
		}
		s.after = 3
		add(s.world, smallBody, span(last+1, last+10)...)
	}
	if loads := x.Stats().Loads; loads != 1 {
		t.Errorf("%d loads", loads)
	}
}
