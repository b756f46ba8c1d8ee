package conformance

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/api"
)

// historiesOfRemoved checks the histories of findings, including removed ones. The remaining
// finding records the merge; the others end with the reason of their removal.
func historiesOfRemoved(t *testing.T, s *site, stays int64, removed map[int64]string) {
	t.Helper()
	history := get[api.FindingHistoryResponse](t, s, fmt.Sprint("findings/", stays, "/history"))
	if last := history.Events[len(history.Events)-1]; history.MergedInto != 0 || last.Kind != "merged" || removed[last.FindingID] == "" {
		t.Errorf("the remaining one has %+v", history)
	}
	for id, why := range removed {
		history := get[api.FindingHistoryResponse](t, s, fmt.Sprint("findings/", id, "/history"))
		last := history.Events[len(history.Events)-1]
		if history.Events[0].Kind != "found" || last.Kind != "removed" || !strings.HasPrefix(last.Note, why) {
			t.Errorf("the removed one, as %q, has %+v", why, history)
		}
		into := int64(0)
		if strings.HasPrefix(why, "merged") {
			into = stays
		}
		if history.MergedInto != into {
			t.Errorf("the one that was removed, as %q, is part of %d, want %d", why, history.MergedInto, into)
		}
		refused(t, s.send(t, request{method: "GET", path: fmt.Sprint("findings/", id, "/evidence")}), 404, api.CodeNotFound)
	}
}

// TestRemovedFindingShowsReason reads findings that were withdrawn, left the range of their advisory,
// or were merged.
func TestRemovedFindingShowsReason(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		one := record{id: "GHSA-1111-1111-1111", name: "lodash", fixed: "4.17.21", severity: "HIGH"}
		two := record{id: "CVE-2026-0001", name: "lodash", fixed: "4.17.21", severity: "HIGH"}
		python := record{id: "GHSA-2222-2222-2222", ecosystem: "PyPI", name: "jinja2", fixed: "3.0.0", severity: "HIGH"}
		ranged := record{id: "GHSA-3333-3333-3333", name: "lodash", fixed: "4.17.21", severity: "HIGH"}
		s.publish(t, one, two, python, ranged)
		s.inventory(t, "main", "4.17.20")
		if before := s.supply(t, ""); len(before) != 4 {
			t.Fatalf("findings %q, want four", before)
		}
		one.aliases, python.withdrawn, ranged.fixed = []string{two.id}, true, "4.0.0"
		s.publish(t, one, python, ranged)
		whys := []string{"withdrawn: ", "no longer affected: ", "merged into #"}
		removed, stays := map[int64]string{}, []int64{}
		for id := int64(1); id <= 4; id++ {
			a := s.send(t, request{method: "GET", path: fmt.Sprint("findings/", id)})
			if a.status == 200 {
				stays = append(stays, id)
				continue
			}
			p := refused(t, a, 404, api.CodeNotFound)
			at := slices.IndexFunc(whys, func(why string) bool { return strings.Contains(p.Detail, "was removed: "+why) })
			if at < 0 {
				t.Fatalf("finding %d returns %q", id, p.Detail)
			}
			removed[id] = whys[at]
			if merged := strings.Contains(p.Detail, "merged into #"); merged != strings.Contains(string(a.body), `"merged_into"`) || merged && p.MergedInto == id {
				t.Errorf("merged_into is %d, of %s", p.MergedInto, p.Detail)
			}
		}
		if len(stays) != 1 || len(removed) != 3 {
			t.Fatalf("%v remain, and %v were removed", stays, removed)
		}
		historiesOfRemoved(t, s, stays[0], removed)
		unknown := refused(t, s.send(t, request{method: "GET", path: "findings/99"}), 404, api.CodeNotFound)
		if strings.Contains(unknown.Detail, "removed") {
			t.Errorf("an unknown one returns %q", unknown.Detail)
		}
		refused(t, s.send(t, request{method: "GET", path: "findings/99/history"}), 404, api.CodeNotFound)
	})
}
