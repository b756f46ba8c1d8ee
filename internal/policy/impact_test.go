package policy

import (
	"slices"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
)

// TestUnservedRules checks that rules of another policy of a project are not reported
// as unserved.
func TestUnservedRules(t *testing.T) {
	policies := []model.Policy{
		{ID: 1}, {ID: 2, Scope: model.PolicyScope{Projects: model.ProjectGlobs{"acme/*"}}}, {ID: 3, Scope: model.PolicyScope{Tags: []string{"pci"}}},
	}
	serving := func(policy int64, name string) model.ServedRule {
		return model.ServedRule{PolicyRule: model.PolicyRule{PolicyID: policy, Rule: model.Rule{Name: name}}}
	}
	served := []model.ServedRule{serving(1, "everywhere"), serving(2, "everywhere"), serving(2, "own"), serving(2, "shared"), serving(3, "shared"), serving(3, "other")}
	now := Set{Policies: policies, Served: served}
	plain, tagged := model.Project{ID: 1, Name: "acme/shop"}, model.Project{ID: 2, Name: "acme/pay", Tags: []string{"PCI"}}
	for _, c := range []struct {
		name string
		id   int64
		left []model.Project
		want []string
	}{
		{"of a project that has no other", 2, []model.Project{plain}, []string{"own", "shared"}},
		{"of one that has another", 2, []model.Project{tagged}, []string{"own"}},
		{"of both, each once", 2, []model.Project{tagged, plain, plain}, []string{"own", "shared"}},
		{"of the other policy", 3, []model.Project{tagged}, []string{"other"}},
		{"unknown", 2, nil, nil},
	} {
		then := now.with(Proposal{Policy: model.Policy{ID: c.id}, Deleted: true})
		if got := unserved(now, then, c.left); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
