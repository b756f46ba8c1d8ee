package ingest

import (
	"encoding/json"
	"fmt"

	"github.com/redoubt/redoubt"
)

// removalDetail says why a finding of the advisories went that nobody fixed.
type removalDetail struct {
	Reason     string `json:"reason"` // for people
	MergedInto int64  `json:"merged_into,omitempty"`
}

// withSurvivors adds to the removals of findings that were merged what the histories of
// those that stay tell of it.
func withSurvivors(events []redoubt.FindingEvent) ([]redoubt.FindingEvent, error) {
	for _, e := range events {
		if e.Kind != redoubt.EventRemoved || e.Detail == "" {
			continue
		}
		var why removalDetail
		if err := json.Unmarshal([]byte(e.Detail), &why); err != nil {
			return nil, err
		}
		if why.MergedInto == 0 {
			continue
		}
		detail, err := toJSON(redoubt.MergedFinding{FindingID: e.FindingID})
		if err != nil {
			return nil, err
		}
		events = append(events, redoubt.FindingEvent{FindingID: why.MergedInto, ScanID: e.ScanID, Kind: redoubt.EventMerged, Detail: detail})
	}
	return events, nil
}

// explainRemovals gives the removals that the plan found their reasons.
func (f *follower) explainRemovals(rows []redoubt.Finding) (err error) {
	identities := make(map[int64]redoubt.Identity, len(rows))
	for i := range rows {
		identities[rows[i].ID] = rows[i].Identity
	}
	for i := range f.plan.changes.Events {
		e := &f.plan.changes.Events[i]
		if e.Kind != redoubt.EventRemoved || e.Detail != "" {
			continue
		}
		if e.Detail, err = toJSON(f.removal(e.FindingID, identities[e.FindingID])); err != nil {
			return err
		}
	}
	f.plan.changes.Events, err = withSurvivors(f.plan.changes.Events)
	return err
}

func mergedInto(by redoubt.Subject) removalDetail {
	return removalDetail{Reason: fmt.Sprintf("merged into #%d, which %s reports", by.FindingID, by.Source), MergedInto: by.FindingID}
}

func (f *follower) removal(findingID int64, id redoubt.Identity) removalDetail {
	if by, covered := f.covered[id]; covered {
		return mergedInto(by)
	}
	if f.Withdrawn[findingID] {
		return removalDetail{Reason: "withdrawn: the advisory was taken back"}
	}
	return removalDetail{Reason: "no longer affected: the advisory changed"}
}
