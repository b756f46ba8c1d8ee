package gate

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// shelf is a fake of Policies that may fail in one of its methods.
type shelf struct {
	projects []model.Project
	policies []model.Policy
	broken   string
}

var errShelf = errors.New("the shelf is broken")

func (s shelf) fault(method string) error {
	if s.broken == method {
		return errShelf
	}
	return nil
}

func (s shelf) Projects(_ context.Context, q store.ProjectQuery) (list []model.Project, err error) {
	for _, p := range s.projects {
		if q.Globs.Allows(p.Name) {
			list = append(list, p)
		}
	}
	return list, s.fault("projects")
}

func (s shelf) Policies(context.Context) ([]model.Policy, error) {
	return s.policies, s.fault("policies")
}

func (s shelf) Policy(_ context.Context, id int64) (model.Policy, error) {
	at := slices.IndexFunc(s.policies, func(p model.Policy) bool { return p.ID == id })
	if at < 0 {
		return model.Policy{}, model.ErrNotFound
	}
	return s.policies[at], s.fault("policy")
}

// TestPoliciesOfRestrictedToken checks that a token that is restricted to projects reads only the
// policies of these projects and their parts about them. An unrestricted token reads all.
func TestPoliciesOfRestrictedToken(t *testing.T) {
	s := shelf{projects: []model.Project{{ID: 1, Name: "acme/a"}, {ID: 2, Name: "other/b"}}, policies: []model.Policy{
		{ID: 1, Name: "all"},
		{ID: 2, Name: "of a", Scope: model.PolicyScope{Projects: model.ProjectGlobs{"acme/*"}}},
		{ID: 3, Name: "of b", Scope: model.PolicyScope{Projects: model.ProjectGlobs{"other/*"}}},
	}}
	bound := model.ProjectGlobs{"acme/*"}
	for _, c := range []struct {
		globs model.ProjectGlobs
		want  []int64
	}{{nil, []int64{1, 2, 3}}, {bound, []int64{1, 2}}, {model.ProjectGlobs{"nothing/*"}, []int64{1}}} {
		list, err := SeenPolicies(t.Context(), s, c.globs)
		var ids []int64
		for _, p := range list {
			ids = append(ids, p.ID)
		}
		if err != nil || !slices.Equal(ids, c.want) {
			t.Errorf("%v: %v, %v, want %v", c.globs, ids, err, c.want)
		}
		for id := range int64(5) {
			p, err := SeenPolicy(t.Context(), s, c.globs, id)
			if seen := slices.Contains(c.want, id); seen && (err != nil || p.ID != id) || !seen && !errors.Is(err, model.ErrNotFound) {
				t.Errorf("%v, policy %d: %+v, %v", c.globs, id, p, err)
			}
		}
	}
	for broken, reads := range map[string][]model.ProjectGlobs{"policies": {nil, bound}, "projects": {bound}} {
		s.broken = broken
		for _, globs := range reads {
			if _, err := SeenPolicies(t.Context(), s, globs); !errors.Is(err, errShelf) {
				t.Errorf("%s are broken: %v", broken, err)
			}
		}
	}
	for broken, reads := range map[string][]model.ProjectGlobs{"policy": {nil, bound}, "projects": {bound}} {
		s.broken = broken
		for _, globs := range reads {
			if _, err := SeenPolicy(t.Context(), s, globs, 1); !errors.Is(err, errShelf) {
				t.Errorf("%s is broken: %v", broken, err)
			}
		}
	}
}

// TestVisibleProject checks that invisible projects and policies are not found, and that other errors are
// returned unchanged.
func TestVisibleProject(t *testing.T) {
	bound, mine, foreign := model.ProjectGlobs{"acme/*"}, model.Project{ID: 1, Name: "acme/a"}, model.Project{ID: 2, Name: "other/b"}
	for _, c := range []struct {
		globs model.ProjectGlobs
		found model.Project
		err   error
		want  model.Project
		as    error
	}{
		{nil, foreign, nil, foreign, nil},
		{bound, mine, nil, mine, nil},
		{bound, foreign, nil, model.Project{}, model.ErrNotFound},
		{bound, model.Project{}, errShelf, model.Project{}, errShelf},
		{nil, model.Project{}, errShelf, model.Project{}, errShelf},
	} {
		p, err := VisibleProject(c.globs, c.found, c.err)
		if diff := cmp.Diff(c.want, p); diff != "" || !errors.Is(err, c.as) {
			t.Errorf("%v of %v: %v, %s", c.globs, c.found.Name, err, diff)
		}
	}
}

// TestReported checks that the gate gets each result of a report with the members that it needs.
func TestReported(t *testing.T) {
	finding := model.Finding{ID: 7, Path: "a.py"}
	got := reported([]ingest.Sighting{{Result: &model.Result{MatchBasedID: "m"}, Finding: finding, Proposed: true}, {Result: &model.Result{}}})
	if len(got) != 2 || got[0].MatchBasedID != "m" || got[0].Finding.ID != 7 || !got[0].Proposed || got[1].Proposed || len(reported(nil)) != 0 {
		t.Errorf("shown are %+v", got)
	}
}

func TestCanUseProject(t *testing.T) {
	for name, want := range map[string]error{
		"acme/a": nil, "acme/unheard-of": nil, "other/x": model.ErrNotFound, "ACME/a": model.ErrNotFound,
	} {
		if err := CanUseProject(model.ProjectGlobs{"acme/*"}, name); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
		if err := CanUseProject(nil, name); err != nil {
			t.Errorf("%s, with a token of all projects: %v", name, err)
		}
	}
}
