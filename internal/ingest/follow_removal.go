package ingest

import (
	"fmt"

	"github.com/redoubt/redoubt/internal/model"
)

// removalDetail contains the reason for the removal of an unfixed finding of the advisories.
type removalDetail struct {
	Reason     string `json:"reason"` // shown to users
	MergedInto int64  `json:"merged_into,omitempty"`
}

// explainRemovals sets the reasons of removal events. For merged findings it also adds an event to
// the remaining finding.
func (f *follower) explainRemovals(rows []model.Finding) error {
	identities := make(map[int64]model.Identity, len(rows))
	for i := range rows {
		identities[rows[i].ID] = rows[i].Identity
	}
	for i, e := range f.plan.changes.Events {
		if e.Kind != model.EventRemoved || f.plan.err != nil {
			continue
		}
		why := f.removal(e.FindingID, identities[e.FindingID])
		if f.plan.changes.Events[i].Detail, f.plan.err = toJSON(why); why.MergedInto != 0 {
			f.plan.addEvent(why.MergedInto, model.EventMerged, model.MergedFinding{FindingID: e.FindingID})
		}
	}
	return f.plan.err
}

func (f *follower) removal(findingID int64, id model.Identity) removalDetail {
	if stays, united := f.united[findingID]; united {
		return removalDetail{fmt.Sprintf("merged into #%d: the advisories name one vulnerability", stays), stays}
	}
	if by, covered := f.covered[id]; covered {
		return removalDetail{fmt.Sprintf("merged into #%d, which %s reports", by.FindingID, by.Source), by.FindingID}
	}
	if f.Withdrawn[findingID] {
		return removalDetail{Reason: "withdrawn: the advisory was withdrawn"}
	}
	return removalDetail{Reason: "no longer affected: the advisory changed"}
}
