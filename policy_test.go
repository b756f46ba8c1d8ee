package redoubt_test

import (
	"errors"
	"testing"

	"github.com/redoubt/redoubt"
)

func TestPolicyScope(t *testing.T) {
	p := redoubt.Project{Name: "Acme/payments", Tags: []string{"PCI", "team a"}}
	for _, c := range []struct {
		scope  redoubt.PolicyScope
		covers bool
	}{
		{redoubt.PolicyScope{}, true},
		{redoubt.PolicyScope{Projects: redoubt.ProjectGlobs{"acme/*"}}, true},
		{redoubt.PolicyScope{Projects: redoubt.ProjectGlobs{"ACME/pay*", "other/**"}}, true},
		{redoubt.PolicyScope{Projects: redoubt.ProjectGlobs{"acme"}}, false},
		{redoubt.PolicyScope{Tags: []string{"pci"}}, true},
		{redoubt.PolicyScope{Tags: []string{"x", "team a"}}, true},
		{redoubt.PolicyScope{Tags: []string{"team"}}, false},
		{redoubt.PolicyScope{Projects: redoubt.ProjectGlobs{"acme/*"}, Tags: []string{"x"}}, false},
		{redoubt.PolicyScope{Projects: redoubt.ProjectGlobs{"x/*"}, Tags: []string{"pci"}}, false},
	} {
		if got := c.scope.Covers(p); got != c.covers {
			t.Errorf("%+v covers the project: %v", c.scope, got)
		}
	}
}

func TestPolicyCheckNamesEveryFault(t *testing.T) {
	p := redoubt.Policy{Name: " x", Slug: "X", Scope: redoubt.PolicyScope{Projects: redoubt.ProjectGlobs{"a\x01"}}, Excludes: redoubt.PathGlobs{"!a"}}
	var invalid *redoubt.InvalidError
	if err := p.Check(); !errors.As(err, &invalid) || len(invalid.Fields) != 5 {
		t.Errorf("five faults are told as %v", err)
	}
	for name, slug := range map[string]string{"Card payments!": "card-payments", " -- ": "", "Ünder 9": "nder-9", "A": "a"} {
		if got := redoubt.SlugOf(name); got != slug {
			t.Errorf("the slug of %q is %q, want %q", name, got, slug)
		}
	}
}

func TestStricter(t *testing.T) {
	block, all := redoubt.Policy{ID: 1}, redoubt.Policy{ID: 2, BlockAll: true}
	inOrder := []redoubt.Stance{
		{},
		redoubt.StanceOf(all, redoubt.ModeMonitor), redoubt.StanceOf(block, redoubt.ModeMonitor),
		redoubt.StanceOf(block, redoubt.ModeComment), redoubt.StanceOf(block, redoubt.ModeBlock), redoubt.StanceOf(all, redoubt.ModeBlock),
	}
	for i := range inOrder {
		for j := range inOrder {
			if got := inOrder[i].Stricter(inOrder[j]); got != inOrder[max(i, j)] {
				t.Errorf("of %+v and %+v, %+v is stricter", inOrder[i], inOrder[j], got)
			}
		}
	}
}
