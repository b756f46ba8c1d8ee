package queue

import (
	"slices"
	"testing"
)

// TestDocumentsAreBounded checks that the oldest documents exceed the limits first, per requester
// and in total.
func TestDocumentsAreBounded(t *testing.T) {
	const mib = 1 << 20
	doc := func(id int64, of string, size int64) storedDocument { return storedDocument{id, of, size} }
	for name, c := range map[string]struct {
		stored []storedDocument
		gone   []int64
	}{
		"within":      {[]storedDocument{doc(1, "a", 256*mib), doc(2, "b", 256*mib)}, nil},
		"one's share": {[]storedDocument{doc(1, "b", mib), doc(2, "a", 100*mib), doc(3, "a", 100*mib), doc(4, "a", 100*mib)}, []int64{2}},
		"all":         {[]storedDocument{doc(1, "a", 200*mib), doc(2, "b", 200*mib), doc(3, "c", 250*mib), doc(4, "d", 200*mib), doc(5, "e", 200*mib)}, []int64{1}},
	} {
		if gone := tooMany(c.stored); !slices.Equal(gone, c.gone) {
			t.Errorf("%s: %v must go, want %v", name, gone, c.gone)
		}
	}
}
