package sqldb

import (
	"cmp"
	"maps"
	"slices"
)

// ChangeRun is a run of ids whose rows changed alike.
type ChangeRun struct {
	changeKey
	More    int64 // ids behind the first
	Deleted bool
}

// Last returns the last id of the run.
func (r *ChangeRun) Last() int64 { return r.ID + r.More }

// AppendTo adds the ids to a list.
func (r *ChangeRun) AppendTo(ids []int64) []int64 {
	for id := r.ID; id <= r.Last(); id++ {
		ids = append(ids, id)
	}
	return ids
}

// changes are what a transaction changed, in the order in which it did: runs, for an
// upload adds findings and lineages by the thousand, whose ids follow each other.
type changes []ChangeRun

// IsRun tells of which kinds there are runs.
func IsRun(kind ChangeKind) bool { return kind == ChangeFinding || kind == ChangeLineage }

// Add notes a change of a row.
func (c *changes) Add(key changeKey, deleted bool) {
	if n := len(*c) - 1; n >= 0 {
		run := &(*c)[n]
		switch same := run.Kind == key.Kind && run.Deleted == deleted; {
		case same && run.ID <= key.ID && key.ID <= run.Last():
			return
		case same && IsRun(key.Kind) && run.Last()+1 == key.ID:
			run.More++
			return
		}
	}
	*c = append(*c, ChangeRun{changeKey: key, Deleted: deleted})
}

// runs are the changes by kind and id, each row once: the last word about it counts.
func (c changes) runs() []ChangeRun {
	byKey := func(a, b ChangeRun) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
	}
	sorted := slices.SortedFunc(slices.Values(c), byKey)
	var joined changes
	for _, run := range sorted {
		if n := len(joined) - 1; n >= 0 && joined[n].Kind == run.Kind {
			if run.ID <= joined[n].Last() {
				return c.single().runs()
			}
			if IsRun(run.Kind) && joined[n].Deleted == run.Deleted && joined[n].Last()+1 == run.ID {
				joined[n].More += run.More + 1
				continue
			}
		}
		joined = append(joined, run)
	}
	return joined
}

// single has the last change of each row alone.
func (c changes) single() (each changes) {
	deleted := map[changeKey]bool{}
	for _, run := range c {
		for id := run.ID; id <= run.Last(); id++ {
			deleted[changeKey{run.Kind, id}] = run.Deleted
		}
	}
	for key := range maps.Keys(deleted) {
		each = append(each, ChangeRun{changeKey: key, Deleted: deleted[key]})
	}
	return each
}
