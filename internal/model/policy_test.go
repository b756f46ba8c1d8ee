package model_test

import (
	"errors"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
)

func TestPolicyScope(t *testing.T) {
	p := model.Project{Name: "Acme/payments", Tags: []string{"PCI", "team a"}}
	for _, c := range []struct {
		scope  model.PolicyScope
		covers bool
	}{
		{model.PolicyScope{}, true},
		{model.PolicyScope{Projects: model.ProjectGlobs{"acme/*"}}, true},
		{model.PolicyScope{Projects: model.ProjectGlobs{"ACME/pay*", "other/**"}}, true},
		{model.PolicyScope{Projects: model.ProjectGlobs{"acme"}}, false},
		{model.PolicyScope{Tags: []string{"pci"}}, true},
		{model.PolicyScope{Tags: []string{"x", "team a"}}, true},
		{model.PolicyScope{Tags: []string{"team"}}, false},
		{model.PolicyScope{Projects: model.ProjectGlobs{"acme/*"}, Tags: []string{"x"}}, false},
		{model.PolicyScope{Projects: model.ProjectGlobs{"x/*"}, Tags: []string{"pci"}}, false},
	} {
		if got := c.scope.Covers(p); got != c.covers {
			t.Errorf("%+v covers the project: %v", c.scope, got)
		}
	}
}

func TestPolicyCheckReportsEveryFault(t *testing.T) {
	p := model.Policy{Name: " x", Slug: "X", Scope: model.PolicyScope{Projects: model.ProjectGlobs{"a\x01"}}, Excludes: model.PathGlobs{"!a"}}
	var invalid *model.InvalidError
	if err := p.Check(); !errors.As(err, &invalid) || len(invalid.Fields) != 5 {
		t.Errorf("the error for five faults is %v", err)
	}
	for name, slug := range map[string]string{"Card payments!": "card-payments", " -- ": "", "Ünder 9": "nder-9", "A": "a"} {
		if got := model.SlugOf(name); got != slug {
			t.Errorf("the slug of %q is %q, want %q", name, got, slug)
		}
	}
}

func TestStricter(t *testing.T) {
	block, all := model.Policy{ID: 1}, model.Policy{ID: 2, BlockAll: true}
	inOrder := []model.RuleMode{
		{},
		model.StanceOf(all, model.ModeMonitor), model.StanceOf(block, model.ModeMonitor),
		model.StanceOf(block, model.ModeComment), model.StanceOf(block, model.ModeBlock), model.StanceOf(all, model.ModeBlock),
	}
	for i := range inOrder {
		for j := range inOrder {
			if got := inOrder[i].Stricter(inOrder[j]); got != inOrder[max(i, j)] {
				t.Errorf("of %+v and %+v, %+v is stricter", inOrder[i], inOrder[j], got)
			}
		}
	}
}
