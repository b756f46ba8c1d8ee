package ingest

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// joiner keeps the lineages that a plan touches, and joins those that prove to
// be one finding.
//
// Of joined lineages the oldest stays, with its annotations, which the others
// fill in where it has none. A person's triage beats an automatic one, and that
// beats none; between equals the oldest lineage's stands. The assignee is
// that of the oldest lineage that has one.
type joiner struct {
	known    map[model.Identity]model.Lineage
	lineages map[int64]model.Lineage
	parent   map[int64]int64   // towards the lineage that stays
	joined   map[int64][]int64 // into the one that stays, which is not among them
	reopened map[int64]bool
}

func newJoiner(stored Stored) joiner {
	j := joiner{
		known:    stored.Known,
		lineages: map[int64]model.Lineage{},
		parent:   map[int64]int64{},
		joined:   map[int64][]int64{},
		reopened: map[int64]bool{},
	}
	maps.Copy(j.lineages, stored.Lineages)
	for _, l := range stored.Known {
		j.lineages[l.ID] = l
	}
	for _, l := range stored.beside.linked {
		j.lineages[l.ID] = l
	}
	return j
}

// of returns the lineage that holds the identity, or 0.
func (j *joiner) of(id model.Identity) int64 { return j.known[id].ID }

// root returns the lineage that a lineage is part of by now.
func (j *joiner) root(id int64) int64 {
	for j.parent[id] != 0 {
		id = j.parent[id]
	}
	return id
}

// join makes the identity's lineage one with the given one. It reports whether
// the identity had one.
func (j *joiner) join(lineage int64, id model.Identity) bool {
	other, known := j.known[id]
	if !known {
		return false
	}
	j.unite(lineage, other.ID)
	return true
}

// unite makes two lineages one.
func (j *joiner) unite(a, b int64) {
	a, b = j.root(a), j.root(b)
	if a == b {
		return
	}
	stays, goes := min(a, b), max(a, b) // ids count up: the smaller is older
	j.parent[goes] = stays
	j.joined[stays] = append(append(j.joined[stays], goes), j.joined[goes]...)
	delete(j.joined, goes)
}

// members are the stored lineages that one is made of by now.
func (j *joiner) members(of int64) []int64 {
	root := j.root(of)
	return append([]int64{root}, j.joined[root]...)
}

// reopen notes that a finding of the lineage came back.
func (j *joiner) reopen(lineage int64) { j.reopened[lineage] = true }

// groups returns the joined lineages by the one that stays, oldest first.
func (j *joiner) groups() map[int64][]model.Lineage {
	out := map[int64][]model.Lineage{}
	for id := range j.parent {
		out[j.root(id)] = append(out[j.root(id)], j.lineages[id])
	}
	for _, list := range out {
		slices.SortFunc(list, func(a, b model.Lineage) int { return int(a.ID - b.ID) })
	}
	return out
}

// merges lists what was joined, by id.
func (j *joiner) merges() (out []model.LineageMerge) {
	groups := j.groups()
	for _, root := range slices.Sorted(maps.Keys(groups)) {
		merge := model.LineageMerge{Into: j.lineages[root]}
		for _, l := range groups[root] {
			merge.From = append(merge.From, l.ID)
			fillAnnotations(&merge.Into.Annotations, l.Annotations)
		}
		out = append(out, merge)
	}
	return out
}

// fillAnnotations takes over annotations where there are none, but for the ticket, which
// the store tells of by what is linked.
func fillAnnotations(into *model.Annotations, from model.Annotations) {
	if into.Assistant == nil {
		into.Assistant = from.Assistant
	}
	if into.EPSS == nil {
		into.EPSS = from.EPSS
	}
	into.Exploited = into.Exploited || from.Exploited
	if into.Reachability == 0 {
		into.Reachability = from.Reachability
	}
	into.ReviewComments = append(slices.Clip(into.ReviewComments), from.ReviewComments...)
	into.ClickToFixPRs = append(slices.Clip(into.ClickToFixPRs), from.ClickToFixPRs...)
	into.ClickToFixFailures = append(slices.Clip(into.ClickToFixFailures), from.ClickToFixFailures...)
}

// triage lists the decisions that changed: the best one of joined lineages, and
// what people were at when a finding came back, which is reopened (docs/explanation/life-of-a-finding.md).
func (j *joiner) triage(now time.Time, by model.Actor) (out []model.TriageEvent) {
	groups := j.groups()
	touched := map[int64]bool{}
	for root := range groups {
		touched[root] = true
	}
	back := map[int64]bool{}
	for id := range j.reopened {
		touched[j.root(id)], back[j.root(id)] = true, true
	}
	for _, root := range slices.Sorted(maps.Keys(touched)) {
		before := j.lineages[root].Triage
		after := before
		for _, l := range groups[root] {
			assignee := cmp.Or(after.Assignee, l.Triage.Assignee)
			if triageWeight(l.Triage) > triageWeight(after) {
				after = l.Triage
			}
			after.Assignee = assignee
		}
		if back[root] && (after.State == model.TriageReviewing || after.State == model.TriageFixing) {
			after = model.Triage{
				State:     model.TriageReopened,
				Comment:   after.Comment,
				At:        now,
				By:        by,
				Automatic: true,
				Assignee:  after.Assignee,
			}
		}
		if after != before {
			out = append(out, model.TriageEvent{LineageID: root, At: now, By: by, Before: before, After: after})
		}
	}
	return out
}

func triageWeight(t model.Triage) int {
	switch {
	case t.State == model.TriageUntriaged || t.State == 0:
		return 0
	case t.Automatic:
		return 1
	}
	return 2
}
