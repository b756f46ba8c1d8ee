package index

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
)

// TestMissing checks that Missing reports missing names of each kind, in filters and in their
// exceptions.
func TestMissing(t *testing.T) {
	w := newWorld()
	seed(w)
	w.putProject(model.Project{ID: 2, Name: "acme/Shop", Tags: []string{"Team-A"}, OldNames: []string{"acme/Store"}})
	w.putProject(model.Project{ID: 3, Name: "acme/gone", Tags: []string{"team-gone"}})
	w.putRule(model.Rule{ID: 2, Name: "go.xss", Category: "correctness", Rulesets: []string{"p/go"}})
	w.commit()
	w.deleteProject(3)
	w.commit()
	v := view(t, New(w, Options{}))
	for name, c := range map[string]struct {
		filter  model.FindingFilter
		visible model.ProjectGlobs
		want    []string
	}{
		"nothing is named":            {},
		"all is there":                {filter: model.FindingFilter{Projects: []string{"ACME/shop", "acme/api"}, ProjectTags: []string{"TEAM-a"}, Rules: []string{"go.xss"}, Rulesets: []string{"p/go"}, Categories: []string{"security"}}},
		"an old name":                 {filter: model.FindingFilter{Projects: []string{"acme/store"}}},
		"a project":                   {filter: model.FindingFilter{Projects: []string{"acme/api", "acme/gone"}}, want: []string{"the project acme/gone no longer exists"}},
		"projects, in order":          {filter: model.FindingFilter{Projects: []string{"z", "acme/api", "b"}}, want: []string{"the projects b, z no longer exist"}},
		"more than are listed":        {filter: model.FindingFilter{Projects: []string{"a", "b", "c", "d", "e", "f", "g"}}, want: []string{"the projects a, b, c, d, e and 2 more no longer exist"}},
		"a tag of a lost project":     {filter: model.FindingFilter{ProjectTags: []string{"team-gone"}}, want: []string{"the project tag team-gone no longer exists"}},
		"a rule in another case":      {filter: model.FindingFilter{Rules: []string{"GO.xss"}}, want: []string{"the rule GO.xss no longer exists"}},
		"a ruleset":                   {filter: model.FindingFilter{Rulesets: []string{"p/java"}}, want: []string{"the ruleset p/java no longer exists"}},
		"a category":                  {filter: model.FindingFilter{Categories: []string{"style"}}, want: []string{"the category style no longer exists"}},
		"excluded projects and rules": {filter: model.FindingFilter{Projects: []string{"b"}, Except: &model.FindingFilter{Projects: []string{"b", "acme/api"}, Rules: []string{"x"}}}, want: []string{"the project b no longer exists", "the rule x no longer exists"}},
		"what one may not see":        {filter: model.FindingFilter{Projects: []string{"acme/api"}, ProjectTags: []string{"team-a"}}, visible: model.ProjectGlobs{"acme/api"}, want: []string{"the project tag team-a no longer exists"}},
	} {
		q, other := &PageQuery{Filter: c.filter}, &PageQuery{Filter: model.FindingFilter{Projects: []string{"other"}}}
		if diff := cmp.Diff([][]string{c.want, {"the project other no longer exists"}}, v.Missing(c.visible, q, other)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
