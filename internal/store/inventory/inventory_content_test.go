package inventory

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/model"
)

// readContent returns the rows of a content that have one of the licenses, or the error of a
// damaged one.
func readContent(content []byte, licences ...string) (rows []ContentRow, err error) {
	q := dependencyQuery{}
	for _, l := range licences {
		q.licences = append(q.licences, licenceBytes(l))
	}
	err = EachContent(content, q.isLicensed, func(id, version int64, t model.Transitivity) bool {
		rows = append(rows, ContentRow{ID: id, Version: version, Transitivity: t})
		return true
	})
	return rows, err
}

func TestContentRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfNDistinct(rapid.Int64Range(1, 1<<53), 1, 30, rapid.ID).Draw(t, "ids")
		var rows []ContentRow
		licenses := map[int64][]string{}
		for _, id := range ids {
			licenses[id] = rapid.SliceOfN(rapid.SampledFrom([]string{"MIT", "mit", "ISC OR MIT", "Apache-2.0"}), 0, 2).Draw(t, "licences")
			list, _ := json.Marshal(licenses[id])
			rows = append(rows, ContentRow{
				id, rapid.Int64Range(1, 1<<53).Draw(t, "version"),
				model.Transitivity(rapid.IntRange(0, 3).Draw(t, "transitivity")), string(list),
			})
		}
		written, err := EncodeContent(rows)
		if err != nil {
			t.Fatal(err)
		}
		for _, filter := range [][]string{nil, {"MIT"}, {"isc", "apache-2.0"}, {"GPL-3.0"}} {
			var want []ContentRow
			for _, r := range rows { // sorted by EncodeContent
				named := slices.ContainsFunc(licenses[r.ID], func(e string) bool {
					return slices.ContainsFunc(filter, func(l string) bool { return hasLicence(e, l) })
				})
				if r.Licenses = ""; filter == nil || named {
					want = append(want, r)
				}
			}
			if got, err := readContent(written, filter...); err != nil || !slices.Equal(got, want) {
				t.Fatalf("%v: read %v, %v, want %v", filter, got, err, want)
			}
		}
		cut := rapid.IntRange(0, len(written)-1).Draw(t, "cut")
		if got, err := readContent(written[:cut]); err == nil && len(got) >= len(rows) {
			t.Fatalf("cut to %d of %d bytes, and nothing is missed", cut, len(written))
		}
	})
}

// FuzzContent checks that decoding arbitrary input terminates, with memory limited by the input's
// length.
func FuzzContent(f *testing.F) {
	f.Add([]byte{1, 0, 1, 2, 1, 0})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Add([]byte{1, 0xff, 0xff, 0xff, 0xff, 0x7f, 0, 0})
	f.Add([]byte{1, 0, 1, 2, 1, 9})
	f.Fuzz(func(t *testing.T, content []byte) {
		rows, err := readContent(content, "MIT")
		if err != nil && !errors.Is(err, errDamagedContent) {
			t.Error(err)
		}
		if len(rows) > len(content) {
			t.Errorf("%d rows in %d bytes", len(rows), len(content))
		}
	})
}

func TestIDSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.OneOf(rapid.Int64Range(0, 300), rapid.Int64Range(idSetPage-2, idSetPage+2), rapid.Int64Range(0, 1<<53))
		ids := rapid.SliceOfNDistinct(id, 0, 2*fewIDs, rapid.ID).Draw(t, "ids")
		s := idSet{}
		for _, id := range ids {
			s.Add(id)
		}
		if s.N != len(ids) || s.N <= fewIDs && !slices.Equal(s.Few, ids) {
			t.Fatalf("%d ids, few %v, of %v", s.N, s.Few, ids)
		}
		for _, probe := range append(ids, id.Draw(t, "probe"), -1) {
			if s.Has(probe) != slices.Contains(ids, probe) {
				t.Fatalf("has(%d) is %v", probe, s.Has(probe))
			}
		}
	})
}

// TestDictionariesAreBounded checks that the least recently used dictionary is evicted first, and
// that too large ones are not cached.
func TestDictionariesAreBounded(t *testing.T) {
	sized := func(n int) packageDictionary { return packageDictionary{history: 1, packages: make([]knownPackage, n)} }
	var c dictionaryCache
	cached := func() (sizes []int) {
		for id := range int64(4) {
			sizes = append(sizes, c.get(id, 1).size())
		}
		return sizes
	}
	for _, step := range []struct {
		deployment int64
		size       int
		want       []int
	}{
		{0, 4, []int{4, 0, 0, 0}},
		{1, 4, []int{4, 4, 0, 0}},
		{0, 5, []int{5, 4, 0, 0}},
		{2, 5, []int{5, 0, 5, 0}},
		{3, 11, []int{5, 0, 5, 0}},
		{2, 11, []int{5, 0, 0, 0}},
		{3, 10, []int{0, 0, 0, 10}},
	} {
		if c.put(step.deployment, sized(step.size), 10); !slices.Equal(cached(), step.want) {
			t.Fatalf("after %d of %d: %v, want %v", step.size, step.deployment, cached(), step.want)
		}
	}
	c.put(3, packageDictionary{packages: make([]knownPackage, 1)}, 10)
	if n := c.get(3, 2).size(); n != 0 || cached()[3] != 10 {
		t.Errorf("another history has %d packages, and rows without a history leave %v", n, cached())
	}
	c.put(3, packageDictionary{history: 2, packages: make([]knownPackage, 2)}, 10)
	c.put(3, sized(1), 10)
	if n := c.get(3, 2).size(); n != 2 || cached()[3] != 0 {
		t.Errorf("the newer history has %d packages, the one before %v", n, cached())
	}
}
