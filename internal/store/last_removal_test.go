package store_test

import (
	"testing"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
)

// TestLastRemovalIsOfTheLastTime holds that a finding which came back and went again
// is not told to be gone for what it was gone for before.
func TestLastRemovalIsOfTheLastTime(t *testing.T) {
	event := func(kind redoubt.FindingEventKind, detail string) store.FindingHistory {
		return store.FindingHistory{FindingEvent: redoubt.FindingEvent{Kind: kind, Detail: detail}}
	}
	merged := event(redoubt.EventRemoved, `{"reason":"merged into #7: they are one","merged_into":7}`)
	back := event(redoubt.EventReturned, "")
	const untold = "its rule or path left the policy, or its ref is gone"
	for name, c := range map[string]struct {
		history []store.FindingHistory
		want    store.Removal
	}{
		"merged":                           {[]store.FindingHistory{merged}, store.Removal{Reason: "merged into #7: they are one", MergedInto: 7}},
		"merged, back, its ref is gone":    {[]store.FindingHistory{merged, back, event(redoubt.EventRemoved, "")}, store.Removal{Reason: untold}},
		"merged, back, its path left":      {[]store.FindingHistory{merged, back, event(redoubt.EventRemoved, `{"excluded_by":"code"}`)}, store.Removal{Reason: untold}},
		"merged, back, withdrawn":          {[]store.FindingHistory{merged, back, event(redoubt.EventRemoved, `{"reason":"withdrawn: it is"}`)}, store.Removal{Reason: "withdrawn: it is"}},
		"its ref is gone, back and merged": {[]store.FindingHistory{event(redoubt.EventRemoved, ""), back, merged, event(redoubt.EventCopied, `{"reason":"no removal"}`)}, store.Removal{Reason: "merged into #7: they are one", MergedInto: 7}},
		"never told":                       {nil, store.Removal{Reason: untold}},
	} {
		t.Run(name, func(t *testing.T) { same(t, "removal", store.LastRemoval(c.history), c.want) })
	}
}
