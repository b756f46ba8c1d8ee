package store_test

import (
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// TestRemovalReasonIsOfLastRemoval checks that a finding that was removed, returned and was removed
// again has the reason of the last removal.
func TestRemovalReasonIsOfLastRemoval(t *testing.T) {
	event := func(kind model.FindingEventKind, detail string) store.FindingHistory {
		return store.FindingHistory{FindingEvent: model.FindingEvent{Kind: kind, Detail: detail}}
	}
	merged := event(model.EventRemoved, `{"reason":"merged into #7: they are one","merged_into":7}`)
	back := event(model.EventReturned, "")
	const untold = "its rule or path was removed from the policy, or its ref was removed"
	for name, c := range map[string]struct {
		history []store.FindingHistory
		want    store.Removal
	}{
		"merged":                           {[]store.FindingHistory{merged}, store.Removal{Reason: "merged into #7: they are one", MergedInto: 7}},
		"merged, back, its ref is gone":    {[]store.FindingHistory{merged, back, event(model.EventRemoved, "")}, store.Removal{Reason: untold}},
		"merged, back, its path left":      {[]store.FindingHistory{merged, back, event(model.EventRemoved, `{"excluded_by":"code"}`)}, store.Removal{Reason: untold}},
		"merged, back, withdrawn":          {[]store.FindingHistory{merged, back, event(model.EventRemoved, `{"reason":"withdrawn: it is"}`)}, store.Removal{Reason: "withdrawn: it is"}},
		"its ref is gone, back and merged": {[]store.FindingHistory{event(model.EventRemoved, ""), back, merged, event(model.EventCopied, `{"reason":"no removal"}`)}, store.Removal{Reason: "merged into #7: they are one", MergedInto: 7}},
		"never told":                       {nil, store.Removal{Reason: untold}},
	} {
		t.Run(name, func(t *testing.T) { same(t, "removal", store.LastRemoval(c.history), c.want) })
	}
}
