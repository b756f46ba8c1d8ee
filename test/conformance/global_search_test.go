package conformance

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// found returns the results of a search as lines: kind, name and number of open findings.
func (s *site) found(t testing.TB, query string) (lines []string) {
	t.Helper()
	for _, h := range get[api.SearchResponse](t, s, "search?"+query).Hits {
		lines = append(lines, fmt.Sprint(h.Kind, " ", h.Name, " ", h.Open))
	}
	return lines
}

// TestSearch checks searches by number, id and name, their order, and their restriction to the
// caller's permissions.
func TestSearch(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		code := smallSite(t, s)
		s.publish(t, record{id: "GHSA-aaaa-bbbb-cccc", aliases: []string{"CVE-2026-11111"}, name: "lodash", fixed: "9.0.0"},
			record{id: "GHSA-dddd-eeee-ffff", name: "unused-package", fixed: "1.0.0"})
		s.inventory(t, "main", "1.0.0")
		ada, eve := s.as(t, "ada", model.RoleTriager), s.as(t, "eve", model.RoleViewer)
		post[api.SavedViewResponse](t, ada, "saved-views", object{"name": "Old lodash", "issue_type": "sca", "query": "q=lodash"})
		post[api.SavedViewResponse](t, ada, "saved-views", object{"name": "Of all: lodash", "issue_type": "sca", "query": "q=lodash", "shared": true})

		first, ofRule := code[0], s.open1(t, "acme/payments&rules="+code[0].RuleName)
		for query, want := range map[string][]string{
			fmt.Sprint("q=%23", first.ID):          {fmt.Sprint("finding ", first.RuleName, " 1")},
			"q=acme/shop":                          {"project acme/shop 1"},
			"q=shop":                               {"project acme/shop 1"},
			"q=ACME":                               {"project acme/shop 1", fmt.Sprint("project acme/payments ", s.open1(t, "acme/payments"))},
			"q=acme&limit=1":                       {"project acme/shop 1"},
			"q=CVE-2026-11111":                     {"vulnerability CVE-2026-11111 1"},
			"q=ghsa-AAAA-bbbb-cccc":                {"vulnerability CVE-2026-11111 1"},
			"q=ghsa-dddd-eeee-ffff":                {"vulnerability GHSA-dddd-eeee-ffff 0"},
			"q=2026-11":                            {"vulnerability CVE-2026-11111 1"},
			"q=" + url.QueryEscape(first.RuleName): {fmt.Sprint("rule ", first.RuleName, " ", ofRule)},
			"q=lodash":                             {"package lodash 1", "saved_view Of all: lodash 0"},
			"q=nothing-is-called-so":               nil,
			"q=%25":                                nil,
			"q=" + url.QueryEscape("עברית"):        nil,
			"q=%234000000000":                      nil,
			"q=" + strings.Repeat("x", 200):        nil,
		} {
			if got := s.found(t, query); !slices.Equal(got, want) {
				t.Errorf("%s returns %q, want %q", query, got, want)
			}
		}
		for other, want := range map[*site]int{ada: 2, eve: 1, s: 1} {
			if n := strings.Count(strings.Join(other.found(t, "q=lodash"), "\n"), "saved_view"); n != want {
				t.Errorf("%d saved views, want %d", n, want)
			}
		}
		for query, at := range map[string]string{
			"": "query.q", "q=": "query.q", "q=" + strings.Repeat("x", 201): "query.q", "q=" + strings.Repeat("x+", 17): "query.q",
			"q=a&limit=0": "query.limit", "q=a&limit=21": "query.limit", "q=a&kind=rule": "query.kind",
		} {
			invalid(t, s.send(t, request{method: "GET", path: "search?" + query}), at)
		}
	})
}

// open1 returns the number of open findings of a project, of all issue types, without duplicates.
func (s *site) open1(t testing.TB, project string) (n int64) {
	t.Helper()
	return get[api.CountFindingsResponse](t, s, "findings/counts?status=open&dedup=true&repos="+project).Total
}

// TestSearchWithRestrictedToken checks that a restricted token can search only for data of its projects,
// by name and by number.
func TestSearchWithRestrictedToken(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		code := smallSite(t, s)
		s.publish(t, record{id: "GHSA-aaaa-bbbb-cccc", aliases: []string{"CVE-2026-11111"}, name: "lodash", fixed: "9.0.0"})
		s.inventory(t, "main", "1.0.0")
		post[api.SavedViewResponse](t, s, "saved-views", object{"name": "lodash", "issue_type": "sca", "query": "", "shared": true})
		bound := *s
		bound.token = s.newToken(t, model.Token{Name: "bound", Scopes: []model.Scope{model.ScopeWebAPI, model.ScopeReadOnly}, ProjectGlobs: []string{"acme/shop"}})
		for query, want := range map[string][]string{
			"q=acme":                                 {"project acme/shop 1"},
			"q=payments":                             nil,
			"q=lodash":                               {"package lodash 1"},
			"q=cve-2026":                             {"vulnerability CVE-2026-11111 1"},
			"q=" + url.QueryEscape(code[0].RuleName): nil,
			fmt.Sprint("q=%23", code[0].ID):          nil,
		} {
			if got := bound.found(t, query); !slices.Equal(got, want) {
				t.Errorf("%s returns %q, want %q", query, got, want)
			}
		}
		noise, err := s.store.Deployment(t.Context(), storetest.Noise)
		if err != nil {
			t.Fatal(err)
		}
		refused(t, s.send(t, request{method: "GET", path: "/api/v1/deployments/" + noise.Slug + "/search?q=a"}), 404, api.CodeNotFound)
	})
}
