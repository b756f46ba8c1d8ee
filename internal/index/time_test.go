package index

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestTimesMatchStandardLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l lastTime
		for _, at := range rapid.SliceOfN(rapid.OneOf(
			rapid.Int64Range(1_700_000_000_000_000, 1_700_172_800_000_000),
			rapid.Int64Range(-1e18, 1e18),
			rapid.SampledFrom([]int64{1, -1, dayMicros - 1, dayMicros, 2_932_897*dayMicros - 1, 2_932_897 * dayMicros}),
		), 1, 9).Draw(t, "times") {
			want := `"` + time.UnixMicro(at).UTC().Format(timeLayout) + `"`
			if at == 0 {
				want = "null"
			}
			if got := string(l.append(nil, at)); got != want {
				t.Errorf("%d is written %s, want %s", at, got, want)
			}
		}
	})
}
