package scans

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestPackRunsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfDistinct(rapid.OneOf(rapid.Int64Range(1, 40), rapid.Int64Range(1, 1<<32)), rapid.ID).Draw(t, "ids")
		slices.Sort(ids)
		got, err := UnpackRuns(packRuns(ids))
		if err != nil || !slices.Equal(got, ids) {
			t.Fatalf("%v became %v, %v", ids, got, err)
		}
	})
	if n := len(packRuns(slices.Collect(func(yield func(int64) bool) {
		for i := range int64(20_000) {
			yield(i + 100_000)
		}
	}))); n > 8 {
		t.Errorf("findings that came together take %d bytes", n)
	}
	for _, bad := range []string{"\x80", "\x01", "\x01\x80", "\x01\xff\xff\xff\xff\xff\x7f"} {
		if ids, err := UnpackRuns([]byte(bad)); err == nil {
			t.Errorf("%q is read as %v", bad, ids)
		}
	}
}
