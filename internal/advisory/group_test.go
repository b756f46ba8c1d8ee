package advisory

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/model"
)

func counter(from int64) func() (int64, error) {
	return func() (int64, error) { from++; return from, nil }
}

func TestRegroup(t *testing.T) {
	member := func(id, group int64, names ...string) model.AdvisoryMember {
		return model.AdvisoryMember{ID: id, Group: group, Names: names}
	}
	for _, c := range []struct {
		what           string
		members        []model.AdvisoryMember
		groups, merged map[int64]int64
	}{
		{"alone", []model.AdvisoryMember{member(1, 0, "A"), member(2, 0, "B")}, map[int64]int64{1: 101, 2: 102}, map[int64]int64{}},
		{"joined by a third", []model.AdvisoryMember{member(1, 0, "A"), member(2, 0, "B"), member(3, 0, "C", "A", "B")}, map[int64]int64{1: 101, 2: 101, 3: 101}, map[int64]int64{}},
		{"a new one joins", []model.AdvisoryMember{member(1, 7, "A"), member(3, 0, "C", "A")}, map[int64]int64{1: 7, 3: 7}, map[int64]int64{}},
		{"two become one", []model.AdvisoryMember{member(1, 9, "A"), member(2, 7, "B", "A")}, map[int64]int64{1: 7, 2: 7}, map[int64]int64{9: 7}},
		{"one falls apart", []model.AdvisoryMember{member(1, 7, "A"), member(2, 7, "B")}, map[int64]int64{1: 7, 2: 101}, map[int64]int64{}},
		{"a member changes sides", []model.AdvisoryMember{member(1, 7, "A"), member(2, 7, "B", "C"), member(3, 8, "C")}, map[int64]int64{1: 7, 2: 8, 3: 8}, map[int64]int64{}},
	} {
		groups, merged, err := Regroup(c.members, counter(100))
		if err != nil || !maps.Equal(groups, c.groups) || !maps.Equal(merged, c.merged) {
			t.Errorf("%s: %v %v %v", c.what, groups, merged, err)
		}
	}
	if _, _, err := Regroup([]model.AdvisoryMember{member(1, 0, "A")}, func() (int64, error) { return 0, errors.New("full") }); err == nil {
		t.Error("no id is no error")
	}
}

// TestRegroupProperties checks that records are in one group if and only if they share a name,
// directly or through others. The order of records has no effect, and regrouping is idempotent.
func TestRegroupProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var members []model.AdvisoryMember
		for id := range rapid.IntRange(1, 8).Draw(t, "records") {
			names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"A", "B", "C", "D", "E", "F"}), 1, 3, rapid.ID[string]).Draw(t, "names")
			members = append(members, model.AdvisoryMember{ID: int64(id + 1), Names: names, Group: int64(rapid.IntRange(0, 3).Draw(t, "group"))})
		}
		groups, merged, err := Regroup(members, counter(100))
		if err != nil {
			t.Fatal(err)
		}
		other, _, _ := Regroup(rapid.Permutation(members).Draw(t, "order"), counter(100))
		if diff := cmp.Diff(groups, other); diff != "" {
			t.Fatal(diff)
		}
		for i, a := range members {
			for _, b := range members[:i] {
				shares := slices.ContainsFunc(a.Names, func(n string) bool { return slices.Contains(b.Names, n) })
				if shares && groups[a.ID] != groups[b.ID] {
					t.Fatalf("%v and %v share a name and no group: %v", a, b, groups)
				}
			}
			members[i].Group = groups[a.ID]
		}
		for gone := range merged {
			if slices.Contains(slices.Collect(maps.Values(groups)), gone) {
				t.Fatalf("group %d became part of another and has records: %v %v", gone, groups, merged)
			}
		}
		second, more, _ := Regroup(members, func() (int64, error) { return 0, errors.New("needs a new group") })
		if !maps.Equal(groups, second) || len(more) > 0 {
			t.Fatalf("again: %v, then %v", groups, second)
		}
	})
}
