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
		"nothing is named":        {},
		"all is there":            {filter: model.FindingFilter{Projects: []string{"ACME/shop", "acme/api"}, ProjectTags: []string{"TEAM-a"}, Rules: []string{"go.xss"}, Rulesets: []string{"p/go"}, Categories: []string{"security"}}},
		"an old name":             {filter: model.FindingFilter{Projects: []string{"acme/store"}}},
		"a project":               {filter: model.FindingFilter{Projects: []string{"acme/api", "acme/gone"}}, want: []string{"there is no project acme/gone any more"}},
		"projects, in order":      {filter: model.FindingFilter{Projects: []string{"z", "acme/api", "b"}}, want: []string{"there are no projects b, z any more"}},
		"more than are named":     {filter: model.FindingFilter{Projects: []string{"a", "b", "c", "d", "e", "f", "g"}}, want: []string{"there are no projects a, b, c, d, e and 2 more any more"}},
		"a tag of a lost project": {filter: model.FindingFilter{ProjectTags: []string{"team-gone"}}, want: []string{"there is no project tag team-gone any more"}},
		"a rule in another case":  {filter: model.FindingFilter{Rules: []string{"GO.xss"}}, want: []string{"there is no rule GO.xss any more"}},
		"a ruleset":               {filter: model.FindingFilter{Rulesets: []string{"p/java"}}, want: []string{"there is no ruleset p/java any more"}},
		"a category":              {filter: model.FindingFilter{Categories: []string{"style"}}, want: []string{"there is no category style any more"}},
		"what is left out":        {filter: model.FindingFilter{Projects: []string{"b"}, Except: &model.FindingFilter{Projects: []string{"b", "acme/api"}, Rules: []string{"x"}}}, want: []string{"there is no project b any more", "there is no rule x any more"}},
		"what one may not see":    {filter: model.FindingFilter{Projects: []string{"acme/api"}, ProjectTags: []string{"team-a"}}, visible: model.ProjectGlobs{"acme/api"}, want: []string{"there is no project tag team-a any more"}},
	} {
		q, other := &PageQuery{Filter: c.filter}, &PageQuery{Filter: model.FindingFilter{Projects: []string{"other"}}}
		if diff := cmp.Diff([][]string{c.want, {"there is no project other any more"}}, v.Missing(c.visible, q, other)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
