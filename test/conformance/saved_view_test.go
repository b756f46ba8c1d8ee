package conformance

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// viewsMade counts the views that savedView creates, for unique names.
var viewsMade atomic.Int64

// savedView creates a shared view and returns its id.
func (s *site) savedView(t testing.TB, name string) string {
	t.Helper()
	body := object{"name": fmt.Sprint(name, " ", viewsMade.Add(1)), "issue_type": "sast", "query": "severities=high", "shared": true}
	return fmt.Sprint(post[api.SavedViewResponse](t, s, "saved-views", body).View.ID)
}

// savedViewWrites adds the writes of saved views, by operation.
func savedViewWrites(t testing.TB, w *world, writes map[string]keyedWrite) {
	t.Helper()
	body := func(name string) object { return object{"name": name, "issue_type": "sast", "shared": true} }
	maps.Copy(writes, map[string]keyedWrite{
		"createSavedView": {request{method: "POST", path: "saved-views", body: body("once")}, body("twice")},
		"updateSavedView": {request{method: "PATCH", path: "saved-views/" + w.savedView(t, "changed"), body: object{"query": "sort=due"}}, object{"query": "sort=oldest"}},
		"deleteSavedView": {request: request{method: "DELETE", path: "saved-views/" + w.savedView(t, "deleted")}},
	})
}

// as returns the site with a token of a new user.
func (s *site) as(t testing.TB, name string, role model.Role) *site {
	t.Helper()
	var u model.User
	err := s.store.Update(t.Context(), s.deployment.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) (err error) {
		u, err = tx.CreateUser(ctx, model.User{Name: name}, role)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	other := *s
	other.token = s.newToken(t, model.Token{Name: name, UserID: u.ID, Scopes: []model.Scope{model.ScopeWebAPI}})
	return &other
}

// TestSavedViewsByAPI creates, shares, changes and deletes views. Users see their own and shared
// views, and invalid views are rejected.
func TestSavedViewsByAPI(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		smallSite(t, s)
		ada, ben, eve := s.as(t, "ada", model.RoleTriager), s.as(t, "ben", model.RoleTriager), s.as(t, "eve", model.RoleViewer)
		body := func(with object) object {
			out := object{"name": "High", "issue_type": "sast", "query": "?severities=high&sort=due&page=3&status=open"}
			maps.Copy(out, with)
			return out
		}
		for name, bad := range map[string]struct {
			with object
			at   string
		}{
			"no name":             {object{"name": ""}, "body.name"},
			"a name of spaces":    {object{"name": "  "}, "body.name"},
			"a name too long":     {object{"name": strings.Repeat("x", 101)}, "body.name"},
			"issue type":          {object{"issue_type": "dast"}, "body.issue_type"},
			"a value":             {object{"query": "severities=terrible"}, "body.query"},
			"a word unknown":      {object{"query": "colour=red"}, "body.query"},
			"another type's":      {object{"query": "epss_probability=high"}, "body.query"},
			"another type's sort": {object{"query": "sort=epss"}, "body.query"},
			"no such column":      {object{"query": "columns=epss"}, "body.query"},
			"a view of a view":    {object{"query": "view=3"}, "body.query"},
			"a query too long":    {object{"query": "q=" + strings.Repeat("x", 2000)}, "body.query"},
			"too many words":      {object{"query": strings.Repeat("repos=a&", 3) + manyProjects(101)}, "body.query"},
			"member":              {object{"owner": 1}, "body.owner"},
		} {
			t.Log(name)
			invalid(t, ada.send(t, request{method: "POST", path: "saved-views", body: body(bad.with)}), bad.at)
		}
		invalid(t, s.send(t, request{method: "POST", path: "saved-views", body: body(nil)}), "body.shared")
		invalid(t, s.send(t, request{method: "POST", path: "saved-views", body: body(object{"shared": true, "default": true})}), "body.default")
		refused(t, eve.send(t, request{method: "POST", path: "saved-views", body: body(nil)}), 403, api.CodePermissionDenied)
		if list := get[api.ListSavedViewsResponse](t, ada, "saved-views").Views; len(list) != 0 {
			t.Fatalf("rejected ones are stored: %+v", list)
		}

		mine := post[api.SavedViewResponse](t, ada, "saved-views", body(object{"default": true})).View
		if mine.Query != "severities=high&sort=due" || mine.Shared || !mine.Default || mine.CreatedBy == "" || mine.Problem != "" {
			t.Errorf("created %+v", mine)
		}
		refused(t, ada.send(t, request{method: "POST", path: "saved-views", body: body(object{"name": "HIGH"})}), 409, api.CodeConflict)
		at := fmt.Sprint("saved-views/", mine.ID)
		for _, other := range []*site{ben, eve, s} {
			refused(t, other.send(t, request{method: "GET", path: at}), 404, api.CodeNotFound)
			invalid(t, other.send(t, request{method: "GET", path: fmt.Sprint("findings?view=", mine.ID)}), "query.view")
		}
		refused(t, ben.send(t, request{method: "DELETE", path: at}), 404, api.CodeNotFound)

		shared := read[api.SavedViewResponse](t, ada.send(t, request{method: "PATCH", path: at, body: object{"shared": true, "name": "High ones"}})).View
		if !shared.Shared || !shared.Default || shared.Name != "High ones" || shared.Query != mine.Query {
			t.Errorf("shared %+v", shared)
		}
		for other, chosen := range map[*site]bool{ada: true, ben: false, eve: false, s: false} {
			if list := get[api.ListSavedViewsResponse](t, other, "saved-views").Views; len(list) != 1 || list[0].Default != chosen {
				t.Errorf("%+v: want the one that is shared, its default %v", list, chosen)
			}
		}
		refused(t, eve.send(t, request{method: "PATCH", path: at, body: object{"name": "Hers"}}), 403, api.CodePermissionDenied)
		read[api.SavedViewResponse](t, ben.send(t, request{method: "PATCH", path: at, body: object{"shared": false}}))
		refused(t, ada.send(t, request{method: "GET", path: at}), 404, api.CodeNotFound)
		read[api.SavedViewResponse](t, ben.send(t, request{method: "DELETE", path: at}))
		refused(t, ben.send(t, request{method: "GET", path: at}), 404, api.CodeNotFound)
	})
}

func manyProjects(n int) string {
	q := url.Values{}
	for i := range n {
		q.Add("repos", fmt.Sprint("p", i))
	}
	return q.Encode()
}

// TestSavedViewFindings lists, counts and exports the findings of a view, in its order, and
// compares them with the filters of the list. The tag of the list changes with the view.
func TestSavedViewFindings(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		code := smallSite(t, s)
		ada := s.as(t, "ada", model.RoleTriager)
		s.triaged(t, object{"issue_type": "sast", "issue_ids": []int64{code[0].ID, code[1].ID}, "new_assignee": "ada"})
		saveView := func(query string) string {
			return fmt.Sprint(post[api.SavedViewResponse](t, ada, "saved-views", object{"name": "View: " + query, "issue_type": "sast", "query": query}).View.ID)
		}
		ids := func(s *site, path string) (out []int64) {
			for _, f := range get[api.ListFindingsResponse](t, s, path).SASTFindings.Findings {
				out = append(out, f.ID)
			}
			return out
		}
		for query, same := range map[string]string{
			"sort=oldest":                "status=open&dedup=true&sort=oldest",
			"":                           "status=open&dedup=true&sort=risk",
			"severities=high&sort=due":   "status=open&dedup=true&sort=due&severities=high",
			"branch=every&sort=newest":   "status=open",
			"status=any&sort=due_desc":   "dedup=true&sort=due_desc",
			"sort=severity_asc":          "status=open&dedup=true&sort=severity_asc",
			"assignees=%40me&sort=risk":  "status=open&dedup=true&sort=risk&assignees=ada",
			"repos=acme%2Fgone":          "status=open&dedup=true&repos=acme/gone",
			"-severities=high&branch=":   "status=open&dedup=true&sort=risk&severities=low&severities=medium&severities=critical",
			"status=fixed&sort=newest":   "status=fixed&dedup=true",
			"assignees=%40nobody&page=2": "status=open&dedup=true&sort=risk&assignees=@nobody",
		} {
			id := saveView(query)
			want, got := ids(s, "findings?"+same), ids(ada, "findings?view="+id)
			if !slices.Equal(want, got) {
				t.Errorf("%s lists %v, %s %v", query, got, same, want)
			}
			if total := get[api.CountFindingsResponse](t, ada, "findings/counts?view="+id).Total; total != int64(len(want)) {
				t.Errorf("%s counts %d, not %d", query, total, len(want))
			}
			if lines := strings.Count(string(ada.send(t, request{method: "GET", path: "findings/export?format=jsonl&view=" + id}).body), "\n"); lines != len(want) {
				t.Errorf("%s exports %d, not %d", query, lines, len(want))
			}
		}
		id := saveView("sort=oldest&branch=primary")
		if newest, want := ids(ada, "findings?sort=newest&view="+id), ids(ada, "findings?view="+id); len(want) < 2 || slices.Equal(newest, want) || newest[0] != want[len(want)-1] {
			t.Errorf("another order of a view: %v, without it %v", newest, want)
		}
		for query, at := range map[string]string{
			"view=" + id + "&status=open": "query.status", "view=" + id + "&issue_type=sca": "query.issue_type", "view=4000000000": "query.view", "sort=epss": "query.sort", "sort=size": "query.sort",
		} {
			invalid(t, ada.send(t, request{method: "GET", path: "findings?" + query}), at)
		}
		for query, at := range map[string]string{"view=" + id + "&repos=acme": "query.repos", "view=" + id + "&issue_type=sca": "query.issue_type", "view=" + id + "&issue_type=sast&issue_type=sca": "query.issue_type"} {
			invalid(t, ada.send(t, request{method: "GET", path: "findings/counts?" + query}), at)
		}
		gone := get[api.SavedViewResponse](t, ada, "saved-views/"+saveView("repos=acme%2Flost")).View
		if gone.Problem != "the project acme/lost no longer exists" {
			t.Errorf("of a lost project it says %q", gone.Problem)
		}

		tag := func() string {
			return ada.send(t, request{method: "GET", path: "findings?view=" + id}).header.Get("ETag")
		}
		first := tag()
		if second := tag(); second != first {
			t.Errorf("the same list has the tags %s and %s", first, second)
		}
		read[api.SavedViewResponse](t, ada.send(t, request{method: "PATCH", path: "saved-views/" + id, body: object{"query": "sort=newest"}}))
		if second := tag(); second == first {
			t.Errorf("the list of the view that was changed still has the tag %s", second)
		}
	})
}

// TestHostedDialectSavedViews checks that a view is accepted only with its own issue type, and
// an order only for findings that have it.
func TestHostedDialectSavedViews(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		smallSite(t, s)
		saveView := func(issueType, query string) string {
			return fmt.Sprint(post[api.SavedViewResponse](t, s, "saved-views", object{"name": issueType + query, "issue_type": issueType, "query": query, "shared": true}).View.ID)
		}
		code, chain := saveView("sast", "severities=high"), saveView("sca", "sort=epss")
		for query, refusedAt := range map[string]string{
			"view=" + code:                                 "",
			"issue_type=sast&view=" + code:                 "",
			"issue_type=sca&view=" + chain:                 "",
			"issue_type=sca&sort=kev&view=" + chain:        "",
			"issue_type=sca&sort=kev":                      "",
			"issue_type=sca&view=" + code:                  "query.issue_type",
			"issue_type=sast&view=" + chain:                "query.issue_type",
			"issue_type=sast,sca&view=" + code:             "query.issue_type",
			"issue_type=sast&issue_type=sca&view=" + chain: "query.issue_type",
			"view=" + chain:                                "query.issue_type",
			"sort=epss":                                    "query.sort",
			"issue_type=sast&sort=epss":                    "query.sort",
			"sort=epss&view=" + code:                       "query.sort",
		} {
			text := s.hosted(t, "findings?"+query)
			if refusedAt == "" && !strings.HasPrefix(text, `{"findings":`) || refusedAt != "" && !strings.Contains(text, refusedAt) {
				t.Errorf("%s returns %.300s, want an error at %q", query, text, refusedAt)
			}
		}
	})
}

// TestCurrentUserFilterRequiresUser checks that a view with @me is rejected for a token without a
// user. Its list would be empty, which could be mistaken for a good result.
func TestCurrentUserFilterRequiresUser(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		smallSite(t, s)
		ada := s.as(t, "ada", model.RoleTriager)
		for _, query := range []string{"assignees=%40me", "-assignees=%40me"} {
			id := fmt.Sprint(post[api.SavedViewResponse](t, s, "saved-views", object{"name": query, "issue_type": "sast", "query": query, "shared": true}).View.ID)
			for _, path := range []string{"findings?view=", "findings/counts?view=", "findings/export?format=jsonl&view="} {
				invalid(t, s.send(t, request{method: "GET", path: path + id}), "query.view")
				if a := ada.send(t, request{method: "GET", path: path + id}); a.status != 200 {
					t.Errorf("%s%s of a user: %d", path, id, a.status)
				}
			}
		}
	})
}

// TestSavedViewIfMatch checks that a view with an outdated ETag cannot be changed.
func TestSavedViewIfMatch(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		at := "saved-views/" + s.savedView(t, "tagged")
		old := s.send(t, request{method: "GET", path: at}).header.Get("ETag")
		change := func(tag, name string) answer {
			return s.send(t, request{method: "PATCH", path: at, body: object{"name": name}, header: map[string]string{"If-Match": tag}})
		}
		read[api.SavedViewResponse](t, change(old, "first"))
		refused(t, change(old, "second"), 409, api.CodeConflict)
		refused(t, s.send(t, request{method: "DELETE", path: at, header: map[string]string{"If-Match": old}}), 409, api.CodeConflict)
		if name := get[api.SavedViewResponse](t, s, at).View.Name; name != "first" {
			t.Errorf("its name is %q", name)
		}
	})
}
