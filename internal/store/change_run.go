package store

import (
	"cmp"
	"maps"
	"slices"
)

// changeRun is a run of ids whose rows changed alike.
type changeRun struct {
	changeKey
	more    int64 // ids behind the first
	deleted bool
}

func (r *changeRun) last() int64 { return r.id + r.more }

// appendTo adds the ids to a list.
func (r *changeRun) appendTo(ids []int64) []int64 {
	for id := r.id; id <= r.last(); id++ {
		ids = append(ids, id)
	}
	return ids
}

// changes are what a transaction changed, in the order in which it did: runs, for an
// upload adds findings and lineages by the thousand, whose ids follow each other.
type changes []changeRun

// isRun tells of which kinds there are runs.
func isRun(kind changeKind) bool { return kind == changeFinding || kind == changeLineage }

// add notes a change of a row.
func (c *changes) add(key changeKey, deleted bool) {
	if n := len(*c) - 1; n >= 0 {
		run := &(*c)[n]
		switch same := run.kind == key.kind && run.deleted == deleted; {
		case same && run.id <= key.id && key.id <= run.last():
			return
		case same && isRun(key.kind) && run.last()+1 == key.id:
			run.more++
			return
		}
	}
	*c = append(*c, changeRun{changeKey: key, deleted: deleted})
}

// runs are the changes by kind and id, each row once: the last word about it counts.
func (c changes) runs() []changeRun {
	byKey := func(a, b changeRun) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.id, b.id))
	}
	sorted := slices.SortedFunc(slices.Values(c), byKey)
	var joined changes
	for _, run := range sorted {
		if n := len(joined) - 1; n >= 0 && joined[n].kind == run.kind {
			if run.id <= joined[n].last() {
				return c.single().runs()
			}
			if isRun(run.kind) && joined[n].deleted == run.deleted && joined[n].last()+1 == run.id {
				joined[n].more += run.more + 1
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
		for id := run.id; id <= run.last(); id++ {
			deleted[changeKey{run.kind, id}] = run.deleted
		}
	}
	for key := range maps.Keys(deleted) {
		each = append(each, changeRun{changeKey: key, deleted: deleted[key]})
	}
	return each
}
