package ingest

import (
	"fmt"

	"github.com/redoubt/redoubt"
)

// removalDetail says why a finding of the advisories went that nobody fixed.
type removalDetail struct {
	Reason     string `json:"reason"` // for people
	MergedInto int64  `json:"merged_into,omitempty"`
}

// explain tells in the history of a finding that went why it did and, if it was merged, in
// that of the finding that stays.
func (f *follower) explain(removed *redoubt.FindingEvent, why removalDetail) {
	if f.plan.err != nil {
		return
	}
	if removed.Detail, f.plan.err = toJSON(why); why.MergedInto != 0 {
		f.plan.addEvent(why.MergedInto, redoubt.EventMerged, redoubt.MergedFinding{FindingID: removed.FindingID})
	}
}

// explainRemovals gives the removals that the plan found their reasons.
func (f *follower) explainRemovals(rows []redoubt.Finding) error {
	identities := make(map[int64]redoubt.Identity, len(rows))
	for i := range rows {
		identities[rows[i].ID] = rows[i].Identity
	}
	for i := range f.plan.changes.Events {
		if e := f.plan.changes.Events[i]; e.Kind == redoubt.EventRemoved && e.Detail == "" {
			f.explain(&e, f.removal(e.FindingID, identities[e.FindingID]))
			f.plan.changes.Events[i] = e
		}
	}
	return f.plan.err
}

func (f *follower) removal(findingID int64, id redoubt.Identity) removalDetail {
	if by, covered := f.covered[id]; covered {
		return removalDetail{fmt.Sprintf("merged into #%d, which %s reports", by.FindingID, by.Source), by.FindingID}
	}
	if f.Withdrawn[findingID] {
		return removalDetail{Reason: "withdrawn: the advisory was taken back"}
	}
	return removalDetail{Reason: "no longer affected: the advisory changed"}
}
