package policy

import (
	"slices"
	"testing"

	"github.com/redoubt/redoubt"
)

// TestRulesThatLeaveWithAPolicy: what another policy of a project still has is not lost to it.
func TestRulesThatLeaveWithAPolicy(t *testing.T) {
	policies := []redoubt.Policy{
		{ID: 1}, {ID: 2, Scope: redoubt.PolicyScope{Projects: redoubt.ProjectGlobs{"acme/*"}}}, {ID: 3, Scope: redoubt.PolicyScope{Tags: []string{"pci"}}},
	}
	serving := func(policy int64, name string) redoubt.ServedRule {
		return redoubt.ServedRule{PolicyRule: redoubt.PolicyRule{PolicyID: policy, Rule: redoubt.Rule{Name: name}}}
	}
	served := []redoubt.ServedRule{serving(1, "everywhere"), serving(2, "everywhere"), serving(2, "own"), serving(2, "shared"), serving(3, "shared"), serving(3, "other")}
	now := Set{Policies: policies, Served: served}
	plain, tagged := redoubt.Project{ID: 1, Name: "acme/shop"}, redoubt.Project{ID: 2, Name: "acme/pay", Tags: []string{"PCI"}}
	for _, c := range []struct {
		name string
		id   int64
		left []redoubt.Project
		want []string
	}{
		{"of a project that has no other", 2, []redoubt.Project{plain}, []string{"own", "shared"}},
		{"of one that has another", 2, []redoubt.Project{tagged}, []string{"own"}},
		{"of both, each once", 2, []redoubt.Project{tagged, plain, plain}, []string{"own", "shared"}},
		{"of the other policy", 3, []redoubt.Project{tagged}, []string{"other"}},
		{"of nobody", 2, nil, nil},
	} {
		then := now.with(Proposal{Policy: redoubt.Policy{ID: c.id}, Deleted: true})
		if got := unserved(now, then, c.left); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
