package inventory

import (
	"maps"
	"testing"

	"pgregory.net/rapid"
)

func TestGraphRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.Int64Range(1, 1<<53)
		pairs := rapid.SliceOf(rapid.Map(rapid.SliceOfN(id, 2, 2), func(p []int64) [2]int64 { return [2]int64(p) })).Draw(t, "pairs")
		want := map[[2]int64]bool{}
		for _, p := range pairs {
			want[p] = true
		}
		written := encodeGraph(pairs)
		read, err := decodeGraph(written)
		got := map[[2]int64]bool{}
		for _, p := range read {
			got[p] = true
		}
		if err != nil || len(read) != len(want) || !maps.Equal(want, got) {
			t.Fatalf("%v: wrote %v, read %v", err, want, read)
		}
		if cut := rapid.IntRange(0, len(written)).Draw(t, "cut"); cut < len(written) {
			if read, err := decodeGraph(written[:cut]); err == nil && len(read) >= len(want) {
				t.Fatalf("cut to %d of %d bytes, and nothing is missed", cut, len(written))
			}
		}
	})
	if _, err := decodeGraph([]byte{1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}); err == nil {
		t.Error("more pairs than bytes pass")
	}
}
