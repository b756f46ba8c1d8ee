package ingest

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// joiner contains the lineages that a plan changes, and joins those of the same finding.
//
// The oldest of joined lineages remains. The others fill in its missing annotations. A person's
// triage takes precedence over an automatic one, and both over none. Among equals, the oldest
// lineage's triage applies. The assignee is that of the oldest lineage with one.
type joiner struct {
	known    map[model.Identity]model.Lineage
	lineages map[int64]model.Lineage
	parent   map[int64]int64   // leads to the remaining lineage
	joined   map[int64][]int64 // by the remaining lineage, which is not included
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
	for _, l := range stored.coexisting.linked {
		j.lineages[l.ID] = l
	}
	return j
}

// of returns the lineage that has the identity, or 0.
func (j *joiner) of(id model.Identity) int64 { return j.known[id].ID }

// root returns the lineage that a lineage was joined into, or itself.
func (j *joiner) root(id int64) int64 {
	for j.parent[id] != 0 {
		id = j.parent[id]
	}
	return id
}

// join unites the lineage of the identity with the given one. It reports whether the identity had a
// lineage.
func (j *joiner) join(lineage int64, id model.Identity) bool {
	other, known := j.known[id]
	if !known {
		return false
	}
	j.unite(lineage, other.ID)
	return true
}

// unite joins two lineages.
func (j *joiner) unite(a, b int64) {
	a, b = j.root(a), j.root(b)
	if a == b {
		return
	}
	target, merged := min(a, b), max(a, b) // ids are ascending: the smaller is older
	j.parent[merged] = target
	j.joined[target] = append(append(j.joined[target], merged), j.joined[merged]...)
	delete(j.joined, merged)
}

// members returns the stored lineages that were joined with one, itself included.
func (j *joiner) members(of int64) []int64 {
	root := j.root(of)
	return append([]int64{root}, j.joined[root]...)
}

// reopen records that a finding of the lineage returned.
func (j *joiner) reopen(lineage int64) { j.reopened[lineage] = true }

// groups returns the joined lineages by the remaining one, oldest first.
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

// merges lists the joined lineages, ordered by the id of the remaining one.
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

// fillAnnotations copies missing annotations. It omits the ticket, which the store derives from
// linked tickets.
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

// triage lists the changed decisions. Joined lineages get the decision with the highest precedence.
// A review or fix in progress becomes reopened if a finding returned
// (docs/explanation/life-of-a-finding.md).
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
