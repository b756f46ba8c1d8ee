package policy_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
)

// ledger records the reads and writes of a policy change, and can fail at one of them.
type ledger struct {
	before    model.Policy
	locations []model.FindingLocation
	broken    string
	calls     []string
	saved     model.Policy
}

func (l *ledger) call(name string, args ...any) error {
	l.calls = append(l.calls, strings.TrimSpace(name+" "+strings.Trim(fmt.Sprintln(args...), "[]\n")))
	if l.broken == name {
		return errBench
	}
	return nil
}

func (*ledger) Now() time.Time { return time.Unix(1, 0) }

func (l *ledger) CreatePolicy(_ context.Context, p model.Policy) (model.Policy, error) {
	p.ID, p.Slug = 7, "made"
	return p, l.call("create")
}

func (l *ledger) UpdatePolicy(_ context.Context, p model.Policy) (model.Policy, error) {
	l.saved = p
	return l.before, l.call("update")
}

func (l *ledger) CurrentLocations(_ context.Context, product model.IssueType, source string) ([]model.FindingLocation, error) {
	return slices.Clone(l.locations), l.call("places", product, source)
}

func (l *ledger) VisibleProjects(context.Context, model.ProjectGlobs) (list []model.Project, err error) {
	for _, id := range []int64{1, 2, 5} {
		list = append(list, model.Project{ID: id, Name: "acme/x"})
	}
	return list, l.call("projects")
}

func (l *ledger) FindingsByID(_ context.Context, ids []int64) (list []model.Finding, err error) {
	for _, id := range ids {
		list = append(list, model.Finding{ID: id})
	}
	return list, l.call("findings", ids)
}

func (l *ledger) UpdateFindings(_ context.Context, list []model.FindingWrite) error {
	return l.call("remove", len(list))
}

func (l *ledger) AddEvents(_ context.Context, list []model.FindingEvent) error {
	return l.call("tell", len(list))
}

// TestSavePolicyRemovesExcludedFindings checks that saving removes findings on excluded paths
// once, and nothing if the excludes are unchanged.
func TestSavePolicyRemovesExcludedFindings(t *testing.T) {
	was := model.Policy{ID: 3, Slug: "was", Product: model.SCA, Default: true, Excludes: model.PathGlobs{"old/"}}
	removal := []string{"places sca semgrep", "projects", "findings 11 12 13", "remove 3", "tell 3"}
	for name, c := range map[string]struct {
		saved   model.Policy
		change  func(*ledger)
		calls   []string
		removed int
	}{
		"a new one that leaves nothing out": {model.Policy{Product: model.SCA}, nil, []string{"create"}, 0},
		"a new one":                         {model.Policy{Product: model.SCA, Excludes: model.PathGlobs{"vendor/"}}, nil, slices.Concat([]string{"create"}, removal), 3},
		"one that leaves out more":          {model.Policy{ID: 3, Product: model.SAST, Excludes: model.PathGlobs{"vendor/"}}, nil, slices.Concat([]string{"update"}, removal), 3},
		"one that leaves out the same":      {model.Policy{ID: 3, Excludes: model.PathGlobs{"old/"}, BlockAll: true}, nil, []string{"update"}, 0},
		"one for other projects":            {model.Policy{ID: 3, Excludes: model.PathGlobs{"old/"}, Scope: model.PolicyScope{Tags: []string{"x"}}}, nil, []string{"update", "places sca semgrep", "projects"}, 0},
		"one that leaves out nothing more":  {model.Policy{ID: 3}, nil, []string{"update"}, 0},
		"where there is nothing": {
			model.Policy{ID: 3, Excludes: model.PathGlobs{"vendor/"}},
			func(l *ledger) { l.locations = nil },
			[]string{"update", "places sca semgrep", "projects"},
			0,
		},
	} {
		l := &ledger{before: was, locations: []model.FindingLocation{
			{FindingID: 11, ProjectID: 2, Path: "vendor/a"}, {FindingID: 12, ProjectID: 1, Path: "vendor/b"}, {FindingID: 13, ProjectID: 2, Path: "vendor/c"}, {FindingID: 14, ProjectID: 5, Path: "src/a"},
		}}
		if c.change != nil {
			c.change(l)
		}
		p, removed, err := policy.Save(t.Context(), l, c.saved)
		if diff := cmp.Diff(c.calls, l.calls); err != nil || removed != c.removed || diff != "" {
			t.Errorf("%s: %d removed, %v (-want +got):\n%s", name, removed, err, diff)
		}
		if c.saved.ID != 0 && (p.Slug != "was" || p.Product != model.SCA || !p.Default) {
			t.Errorf("%s: it becomes %+v", name, p)
		}
		for at := range c.calls {
			broken := *l
			broken.calls, broken.broken = nil, strings.Fields(c.calls[at])[0]
			if _, _, err := policy.Save(t.Context(), &broken, c.saved); !errors.Is(err, errBench) || len(broken.calls) != at+1 {
				t.Errorf("%s: where %s is broken it goes on: %v, %v", name, broken.broken, broken.calls, err)
			}
		}
	}
}

func TestRemoveCondition(t *testing.T) {
	l := &ledger{before: model.Policy{ID: 3}}
	p := model.Policy{ID: 3, Conditions: []model.PolicyCondition{{ID: 1}, {ID: 2}, {ID: 3}}}
	c, err := policy.RemoveCondition(t.Context(), l, p, 2)
	if err != nil || c.ID != 2 || len(l.saved.Conditions) != 2 || l.saved.Conditions[0].ID != 1 || l.saved.Conditions[1].ID != 3 || len(p.Conditions) != 3 {
		t.Errorf("left are %+v of %+v, %v", l.saved.Conditions, p.Conditions, err)
	}
	if _, err := policy.RemoveCondition(t.Context(), l, p, 4); !errors.Is(err, model.ErrNotFound) {
		t.Errorf("one that is not there: %v", err)
	}
}

// TestPoliciesOfProject checks the policies of a project and their excludes.
func TestPoliciesOfProject(t *testing.T) {
	e := policy.For(model.Project{Name: "acme/a"}, []model.Policy{
		{ID: 4, Product: model.Secrets, Excludes: model.PathGlobs{"b/", "a/"}},
		{ID: 2, Product: model.Secrets, Excludes: model.PathGlobs{"a/"}},
		{ID: 3, Product: model.SAST},
		{ID: 9, Product: model.SCA, Excludes: model.PathGlobs{"x/"}, Scope: model.PolicyScope{Projects: model.ProjectGlobs{"other/*"}}},
	}, nil)
	if ids := e.PolicyIDs(); !slices.Equal(ids, []int64{4, 2, 3}) {
		t.Errorf("the policies are %v", ids)
	}
	if got := fmt.Sprint(e.Ignored()); got != "[[secrets [a/ b/]]]" {
		t.Errorf("left out are %s", got)
	}
}
