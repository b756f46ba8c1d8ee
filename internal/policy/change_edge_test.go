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

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/policy"
)

// ledger notes what a change of a policy reads and writes, and may fail at one of it.
type ledger struct {
	before redoubt.Policy
	places []redoubt.Place
	broken string
	calls  []string
	saved  redoubt.Policy
}

func (l *ledger) call(name string, args ...any) error {
	l.calls = append(l.calls, strings.TrimSpace(name+" "+strings.Trim(fmt.Sprintln(args...), "[]\n")))
	if l.broken == name {
		return errBench
	}
	return nil
}

func (*ledger) Now() time.Time { return time.Unix(1, 0) }

func (l *ledger) CreatePolicy(_ context.Context, p redoubt.Policy) (redoubt.Policy, error) {
	p.ID, p.Slug = 7, "made"
	return p, l.call("create")
}

func (l *ledger) UpdatePolicy(_ context.Context, p redoubt.Policy) (redoubt.Policy, error) {
	l.saved = p
	return l.before, l.call("update")
}

func (l *ledger) LivePlaces(_ context.Context, product redoubt.IssueType, source string) ([]redoubt.Place, error) {
	return slices.Clone(l.places), l.call("places", product, source)
}

func (l *ledger) VisibleProjects(context.Context, redoubt.ProjectGlobs) (list []redoubt.Project, err error) {
	for _, id := range []int64{1, 2, 5} {
		list = append(list, redoubt.Project{ID: id, Name: "acme/x"})
	}
	return list, l.call("projects")
}

func (l *ledger) FindingsByID(_ context.Context, ids []int64) (list []redoubt.Finding, err error) {
	for _, id := range ids {
		list = append(list, redoubt.Finding{ID: id})
	}
	return list, l.call("findings", ids)
}

func (l *ledger) UpdateFindings(_ context.Context, list []redoubt.FindingWrite) error {
	return l.call("remove", len(list))
}

func (l *ledger) AddEvents(_ context.Context, list []redoubt.FindingEvent) error {
	return l.call("tell", len(list))
}

// TestSavingAPolicyTouchesWhatItLeavesOut, once, and nothing where it leaves out what it
// did before.
func TestSavingAPolicyTouchesWhatItLeavesOut(t *testing.T) {
	was := redoubt.Policy{ID: 3, Slug: "was", Product: redoubt.SCA, Default: true, Excludes: redoubt.PathGlobs{"old/"}}
	removal := []string{"places sca semgrep", "projects", "findings 11 12 13", "remove 3", "tell 3"}
	for name, c := range map[string]struct {
		saved   redoubt.Policy
		change  func(*ledger)
		calls   []string
		removed int
	}{
		"a new one that leaves nothing out": {redoubt.Policy{Product: redoubt.SCA}, nil, []string{"create"}, 0},
		"a new one":                         {redoubt.Policy{Product: redoubt.SCA, Excludes: redoubt.PathGlobs{"vendor/"}}, nil, slices.Concat([]string{"create"}, removal), 3},
		"one that leaves out more":          {redoubt.Policy{ID: 3, Product: redoubt.SAST, Excludes: redoubt.PathGlobs{"vendor/"}}, nil, slices.Concat([]string{"update"}, removal), 3},
		"one that leaves out the same":      {redoubt.Policy{ID: 3, Excludes: redoubt.PathGlobs{"old/"}, BlockAll: true}, nil, []string{"update"}, 0},
		"one for other projects":            {redoubt.Policy{ID: 3, Excludes: redoubt.PathGlobs{"old/"}, Scope: redoubt.PolicyScope{Tags: []string{"x"}}}, nil, []string{"update", "places sca semgrep", "projects"}, 0},
		"one that leaves out nothing more":  {redoubt.Policy{ID: 3}, nil, []string{"update"}, 0},
		"where there is nothing": {
			redoubt.Policy{ID: 3, Excludes: redoubt.PathGlobs{"vendor/"}},
			func(l *ledger) { l.places = nil },
			[]string{"update", "places sca semgrep", "projects"},
			0,
		},
	} {
		l := &ledger{before: was, places: []redoubt.Place{
			{FindingID: 11, ProjectID: 2, Path: "vendor/a"}, {FindingID: 12, ProjectID: 1, Path: "vendor/b"}, {FindingID: 13, ProjectID: 2, Path: "vendor/c"}, {FindingID: 14, ProjectID: 5, Path: "src/a"},
		}}
		if c.change != nil {
			c.change(l)
		}
		p, removed, err := policy.Save(t.Context(), l, c.saved)
		if diff := cmp.Diff(c.calls, l.calls); err != nil || removed != c.removed || diff != "" {
			t.Errorf("%s: %d removed, %v (-want +got):\n%s", name, removed, err, diff)
		}
		if c.saved.ID != 0 && (p.Slug != "was" || p.Product != redoubt.SCA || !p.Default) {
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

func TestAConditionThatIsRemovedIsGone(t *testing.T) {
	l := &ledger{before: redoubt.Policy{ID: 3}}
	p := redoubt.Policy{ID: 3, Conditions: []redoubt.PolicyCondition{{ID: 1}, {ID: 2}, {ID: 3}}}
	c, err := policy.RemoveCondition(t.Context(), l, p, 2)
	if err != nil || c.ID != 2 || len(l.saved.Conditions) != 2 || l.saved.Conditions[0].ID != 1 || l.saved.Conditions[1].ID != 3 || len(p.Conditions) != 3 {
		t.Errorf("left are %+v of %+v, %v", l.saved.Conditions, p.Conditions, err)
	}
	if _, err := policy.RemoveCondition(t.Context(), l, p, 4); !errors.Is(err, redoubt.ErrNotFound) {
		t.Errorf("one that is not there: %v", err)
	}
}

// TestWhatIsForAProject: which policies there are, and what scanners leave out by them.
func TestWhatIsForAProject(t *testing.T) {
	e := policy.For(redoubt.Project{Name: "acme/a"}, []redoubt.Policy{
		{ID: 4, Product: redoubt.Secrets, Excludes: redoubt.PathGlobs{"b/", "a/"}},
		{ID: 2, Product: redoubt.Secrets, Excludes: redoubt.PathGlobs{"a/"}},
		{ID: 3, Product: redoubt.SAST},
		{ID: 9, Product: redoubt.SCA, Excludes: redoubt.PathGlobs{"x/"}, Scope: redoubt.PolicyScope{Projects: redoubt.ProjectGlobs{"other/*"}}},
	}, nil)
	if ids := e.PolicyIDs(); !slices.Equal(ids, []int64{4, 2, 3}) {
		t.Errorf("the policies are %v", ids)
	}
	if got := fmt.Sprint(e.Ignored()); got != "[[secrets [a/ b/]]]" {
		t.Errorf("left out are %s", got)
	}
}
