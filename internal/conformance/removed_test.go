package conformance

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/api"
)

// historiesOfMerged holds the histories of two findings that are one to each other: the
// one that stays took in the other, of which the trail can be read. What was withdrawn has
// none.
func historiesOfMerged(t *testing.T, s *site, stays []int64) {
	t.Helper()
	read := 0
	for id := int64(1); id <= 3; id++ {
		a := s.send(t, request{method: "GET", path: fmt.Sprint("findings/", id, "/history")})
		if a.status != 200 {
			refused(t, a, 404, api.CodeNotFound)
			continue
		}
		history := get[api.FindingHistoryResponse](t, s, fmt.Sprint("findings/", id, "/history"))
		read++
		last := history.Events[len(history.Events)-1]
		switch {
		case slices.Contains(stays, id):
			if history.MergedInto != 0 || last.Kind != "merged" || last.FindingID == 0 || last.FindingID == id {
				t.Errorf("the one that stays tells %+v", history)
			}
		case len(stays) != 1 || history.MergedInto != stays[0] || history.Events[0].Kind != "found" || last.Kind != "removed":
			t.Errorf("the one that was merged tells %+v", history)
		}
	}
	if read != 2 {
		t.Errorf("%d histories can be read, want those of the two that are one", read)
	}
}

// TestARemovedFindingSaysWhy asks for findings that were withdrawn and merged.
func TestARemovedFindingSaysWhy(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		one := record{id: "GHSA-1111-1111-1111", name: "lodash", fixed: "4.17.21", severity: "HIGH"}
		two := record{id: "CVE-2026-0001", name: "lodash", fixed: "4.17.21", severity: "HIGH"}
		python := record{id: "GHSA-2222-2222-2222", ecosystem: "PyPI", name: "jinja2", fixed: "3.0.0", severity: "HIGH"}
		s.publish(t, one, two, python)
		s.inventory(t, "main", "4.17.20")
		if before := s.supply(t, ""); len(before) != 3 {
			t.Fatalf("findings %q, want three", before)
		}
		one.aliases, python.withdrawn = []string{two.id}, true
		s.publish(t, one, python)
		told, into, stays := []string{}, []int64{}, []int64{}
		for id := int64(1); id <= 3; id++ {
			a := s.send(t, request{method: "GET", path: fmt.Sprint("findings/", id)})
			if a.status == 200 {
				stays = append(stays, id)
				continue
			}
			p := refused(t, a, 404, api.CodeNotFound)
			told = append(told, p.Detail)
			if p.MergedInto != 0 {
				into = append(into, p.MergedInto)
			}
			if said := strings.Contains(string(a.body), `"merged_into"`); said != strings.Contains(p.Detail, "merged into #") {
				t.Errorf("merged_into is there: %v, of %s", said, p.Detail)
			}
		}
		historiesOfMerged(t, s, stays)
		if len(stays) != 1 || !slices.Equal(into, stays) {
			t.Errorf("merged into %d, while %d stays", into, stays)
		}
		text := strings.Join(told, "\n")
		if len(told) != 2 || !strings.Contains(text, "was removed: withdrawn: ") || !strings.Contains(text, "was removed: merged into #") {
			t.Errorf("removed findings answer %q", told)
		}
		unknown := refused(t, s.send(t, request{method: "GET", path: "findings/99"}), 404, api.CodeNotFound)
		if strings.Contains(unknown.Detail, "removed") {
			t.Errorf("an unknown one answers %q", unknown.Detail)
		}
	})
}
