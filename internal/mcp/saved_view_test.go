package mcp_test

import (
	"strings"
	"testing"

	"github.com/redoubt/redoubt/api"
)

// TestSavedViews checks lists and counts of a view. It accepts no other filter and no other issue
// type, and warns about deleted objects.
func TestSavedViews(t *testing.T) {
	w := newWorld(t, "")
	s, client := w.connect(w.token), w.client(w.token)
	create := func(name, query string) int64 {
		v, err := client.CreateSavedView(t.Context(), w.ours.Slug, api.CreateSavedViewRequest{Name: name, IssueType: "sast", Query: query, Shared: true})
		if err != nil {
			t.Fatal(err)
		}
		return v.View.ID
	}
	app, lost := create("app", "repos=acme%2Fapp"), create("lost", "repos=acme%2Fgone")
	var views []api.SavedView
	if w.data(s, "list_saved_views", nil, &views); len(views) != 2 || views[1].Problem != "the project acme/gone no longer exists" {
		t.Errorf("the views are %+v", views)
	}
	for view, want := range map[int64]int{app: 3, lost: 0} {
		var lines []any
		var counts any
		found := w.data(s, "search_findings", map[string]any{"issue_type": "sast", "view": view}, &lines)
		counted := w.data(s, "count_findings", map[string]any{"issue_type": "sast", "view": view}, &counts)
		if len(lines) != want || strings.HasPrefix(counted, "0 findings") != (want == 0) {
			t.Errorf("view %d lists %d and counts %q", view, len(lines), counted)
		}
		for _, message := range []string{found, counted} {
			if strings.Contains(message, "deleted objects") != (view == lost) || strings.Contains(message, "acme/gone") {
				t.Errorf("view %d: %s", view, message)
			}
		}
	}
	for message, arguments := range map[string]map[string]any{
		"cannot be combined with other filters": {"issue_type": "sast", "view": app, "severities": []string{"high"}},
		"query.issue_type":                      {"issue_type": "sca", "view": app},
		"start at 1":                            {"issue_type": "sast", "view": -1},
		"4000000":                               {"issue_type": "sast", "view": 4_000_000},
	} {
		for _, tool := range []string{"search_findings", "count_findings"} {
			if text, refused := w.call(s, tool, arguments); !refused || !strings.Contains(text, message) {
				t.Errorf("%s %v: %s, want %q", tool, arguments, text, message)
			}
		}
	}
}
