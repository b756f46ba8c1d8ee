package conformance

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/model"
)

// TestSavedViewWarnsOfDeletedObjects checks that each response for a view with deleted objects has a
// warning. An empty list could be mistaken for a good result.
func TestSavedViewWarnsOfDeletedObjects(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		smallSite(t, s)
		project := "projects/acme%2Fpayments"
		patch[api.ProjectResponse](t, s, project, object{"tags": []string{"team-a"}})
		saveView := func(query string) string {
			return fmt.Sprint(post[api.SavedViewResponse](t, s, "saved-views", object{"name": query, "issue_type": "sast", "query": query, "shared": true}).View.ID)
		}
		tagged, ruled := saveView("project_tags=team-a"), saveView("rules=no.such.rule")
		checkProblem := func(s *site, view, want string) {
			t.Helper()
			for _, path := range []string{"findings?", "findings/counts?", "findings/export?format=csv&", "findings/export?format=sarif&"} {
				a := s.send(t, request{method: "GET", path: path + "view=" + view})
				if got := a.header.Get(api.ViewProblemHeader); a.status != 200 || !strings.Contains(got, want) || (got == "") != (want == "") || got != "" && strings.Trim(got, `"`) == got {
					t.Errorf("%s of view %s: %d shows %s, want %s", path, view, a.status, got, want)
				}
			}
		}
		checkProblem(s, tagged, "")
		first := tagIn(s.send(t, request{method: "GET", path: "findings?view=" + tagged}))
		patch[api.ProjectResponse](t, s, project, object{"tags": []string{}})
		const lost = "team-a"
		checkProblem(s, tagged, lost)
		if second := tagIn(s.send(t, request{method: "GET", path: "findings?view=" + tagged})); second == first {
			t.Error("the tag of the list did not change")
		}
		checkProblem(s, ruled, "no.such.rule")
		for _, v := range get[api.ListSavedViewsResponse](t, s, "saved-views").Views {
			if fmt.Sprint(v.ID) == tagged && !strings.Contains(v.Problem, lost) {
				t.Errorf("the list of views shows %q", v.Problem)
			}
		}
		bound := *s
		bound.token = s.newToken(t, model.Token{Name: "bound", Scopes: []model.Scope{model.ScopeWebAPI}, ProjectGlobs: []string{"other/**"}})
		checkProblem(&bound, saveView("repos=acme%2Fpayments"), "acme/payments")
		if a := s.send(t, request{method: "GET", path: "findings?repos=acme/gone"}); a.header.Get(api.ViewProblemHeader) != "" {
			t.Error("a list without a view has the note too")
		}
	})
}

// TestSavedViewListETag checks that the tag of a view's list follows the meaning of the view,
// even if no finding changes. An unchanged list has the same tag.
func TestSavedViewListETag(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		const week = 7 * 24 * time.Hour
		begun, code := s.clock.Now(), smallSite(t, s)
		s.publish(t, record{id: "GHSA-aaaa", name: "lodash", ecosystem: "npm", fixed: "4.17.21", severity: "HIGH"})
		s.inventory(t, "main", "4.17.20")
		s.clock.Advance(week - s.clock.Now().Sub(begun) - time.Minute)
		read := func(query string) (n int, tag string) {
			a := s.send(t, request{method: "GET", path: "findings?" + query})
			if a.status != 200 {
				t.Fatalf("%s: %d %s", query, a.status, a.body)
			}
			return strings.Count(string(a.body), `"relevant_since"`), tagIn(a)
		}
		for _, c := range []struct {
			name, issueType, query string
			change                 func()
			before, after          int
		}{
			{"names", "sca", "q=CVE-2026-1&status=any", func() {
				r := record{id: "GHSA-bbbb", name: "other", ecosystem: "npm", severity: "HIGH", aliases: []string{"CVE-2026-1", "GHSA-aaaa"}}
				if _, err := advisory.Load(t.Context(), s.store, advisory.SingleFile(r.id+".json", r.json(t)), nil); err != nil {
					t.Fatal(err)
				}
			}, 0, 1},
			{"since", "sast", "since=7&status=any&branch=every&repos=acme%2Fpayments", func() { s.clock.Advance(2 * time.Minute) }, len(code), 0},
		} {
			view := "view=" + fmt.Sprint(post[api.SavedViewResponse](t, s, "saved-views", object{"name": c.name, "issue_type": c.issueType, "query": c.query, "shared": true}).View.ID) + "&issue_type=" + c.issueType
			n, tag := read(view)
			s.clock.Advance(time.Second)
			if _, second := read(view); n != c.before || second != tag {
				t.Errorf("%s: lists %d, want %d, under the tags %s and %s", c.name, n, c.before, tag, second)
			}
			c.change()
			if n, second := read(view); n != c.after || second == tag {
				t.Errorf("%s: lists %d, want %d, still under the tag %v", c.name, n, c.after, second == tag)
			}
		}
	})
}
