package sqldb

import (
	"cmp"
	"maps"
	"slices"
)

// ChangeRun is a range of consecutive ids with the same kind of change.
type ChangeRun struct {
	changeKey
	More    int64 // ids after the first
	Deleted bool
}

// Last returns the last id of the run.
func (r *ChangeRun) Last() int64 { return r.ID + r.More }

// AppendTo appends the ids of the run to a list.
func (r *ChangeRun) AppendTo(ids []int64) []int64 {
	for id := r.ID; id <= r.Last(); id++ {
		ids = append(ids, id)
	}
	return ids
}

// changes are the changes of a transaction, in order. They are stored as runs because an upload
// adds thousands of findings and lineages with consecutive ids.
type changes []ChangeRun

// IsRun reports whether changes of a kind are stored as runs.
func IsRun(kind ChangeKind) bool { return kind == ChangeFinding || kind == ChangeLineage }

// Add adds a change of a row.
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

// runs returns the changes sorted by kind and id. Each row occurs once, with its last change.
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

// single returns the last change of each row, without runs.
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
