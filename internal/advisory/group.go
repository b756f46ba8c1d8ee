package advisory

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// Regroup assigns records that share a name, directly or through others, to one group. A group
// retains the lowest id of its records that no group with an older record has. If there is none,
// fresh provides an id. It returns the group of each record by id, and maps groups without records
// to the group that they were merged into.
//
// The list must contain all records that share a name or a group with one of its records.
func Regroup(members []model.AdvisoryMember, fresh func() (int64, error)) (groups, merged map[int64]int64, err error) {
	members = slices.SortedFunc(slices.Values(members), func(a, b model.AdvisoryMember) int {
		return cmp.Compare(a.ID, b.ID)
	})
	parts := components(members)
	groups, merged = map[int64]int64{}, map[int64]int64{}
	used := map[int64]bool{}
	had := make([][]int64, len(parts))
	for i, part := range parts {
		for _, m := range part {
			if m.Group != 0 && !used[m.Group] {
				had[i] = append(had[i], m.Group)
			}
		}
		slices.Sort(had[i])
		had[i] = slices.Compact(had[i])
		if len(had[i]) == 0 {
			id, err := fresh()
			if err != nil {
				return nil, nil, err
			}
			had[i] = []int64{id}
		}
		used[had[i][0]] = true
		for _, m := range part {
			groups[m.ID] = had[i][0]
		}
	}
	for i := range parts {
		for _, gone := range had[i][1:] {
			if !used[gone] && merged[gone] == 0 {
				merged[gone] = had[i][0]
			}
		}
	}
	return groups, merged, nil
}

// components splits records into sets connected by shared names, the set with the oldest record
// first.
func components(members []model.AdvisoryMember) (parts [][]model.AdvisoryMember) {
	parent := make([]int, len(members))
	root := func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	first := map[string]int{}
	for i, m := range members {
		parent[i] = i
		for _, name := range m.Names {
			j, known := first[name]
			if !known {
				first[name] = i
				continue
			}
			a, b := root(i), root(j)
			parent[max(a, b)] = min(a, b)
		}
	}
	by := map[int][]model.AdvisoryMember{}
	for i, m := range members {
		by[root(i)] = append(by[root(i)], m)
	}
	for _, i := range slices.Sorted(maps.Keys(by)) {
		parts = append(parts, by[i])
	}
	return parts
}

// Names returns the id and the aliases in upper case. Records with a common name belong together.
func (f *Facts) Names() []string {
	out := []string{strings.ToUpper(f.ID)}
	for _, a := range f.Aliases {
		if upper := strings.ToUpper(a); !slices.Contains(out, upper) {
			out = append(out, upper)
		}
	}
	return out
}

// PreferredID returns the displayed name of a vulnerability. It is the lowest CVE, otherwise the
// lowest GHSA, otherwise the lowest of the records' own ids.
func PreferredID(own, aliases []string) string {
	best := func(list []string, prefix string) (lowest string) {
		for _, id := range list {
			if strings.HasPrefix(strings.ToUpper(id), prefix) && (lowest == "" || compareIDs(id, lowest) < 0) {
				lowest = id
			}
		}
		return lowest
	}
	all := slices.Concat(own, aliases)
	return cmp.Or(best(all, "CVE-"), best(all, "GHSA-"), best(own, ""))
}

// compareIDs compares ids numerically: CVE-2021-9 precedes CVE-2021-10.
func compareIDs(a, b string) int {
	x, y := strings.Split(strings.ToUpper(a), "-"), strings.Split(strings.ToUpper(b), "-")
	for i := range min(len(x), len(y)) {
		if numeric(x[i]) && numeric(y[i]) {
			p, q := strings.TrimLeft(x[i], "0"), strings.TrimLeft(y[i], "0")
			if sign := cmp.Or(cmp.Compare(len(p), len(q)), strings.Compare(p, q)); sign != 0 {
				return sign
			}
		}
		if sign := strings.Compare(x[i], y[i]); sign != 0 {
			return sign
		}
	}
	return cmp.Compare(len(x), len(y))
}

func numeric(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
