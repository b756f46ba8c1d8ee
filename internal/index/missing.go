package index

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// mostMissing is the maximum number of names to list. Further names are counted only.
const mostMissing = 5

// nameable contains the kinds of names whose existence is checked. Other filter values, such as
// packages, exist as long as a listed finding has them.
var nameable = []struct {
	one, many string
	folded    bool // names are case-insensitive
	names     func(*model.FindingFilter) []string
	of        func(*project, *rule) []string // values of the project or rule, in the form of spelled
}{
	{
		"project", "projects", true,
		func(f *model.FindingFilter) []string { return f.Projects },
		ofProject(func(p *project) []string { return append(slices.Clone(p.oldNames), p.folded) }),
	},
	{
		"project tag", "project tags", true,
		func(f *model.FindingFilter) []string { return f.ProjectTags },
		ofProject(func(p *project) []string { return p.tags }),
	},
	{
		"rule", "rules", false,
		func(f *model.FindingFilter) []string { return f.Rules },
		ofRule(func(r *rule) []string { return []string{r.name} }),
	},
	{
		"ruleset", "rulesets", false,
		func(f *model.FindingFilter) []string { return f.Rulesets },
		ofRule(func(r *rule) []string { return r.rulesets }),
	},
	{
		"category", "categories", false,
		func(f *model.FindingFilter) []string { return f.Categories },
		ofRule(func(r *rule) []string { return r.category }),
	},
}

func ofProject(words func(*project) []string) func(*project, *rule) []string {
	return func(p *project, _ *rule) []string {
		if p == nil {
			return nil
		}
		return words(p)
	}
}

func ofRule(words func(*rule) []string) func(*project, *rule) []string {
	return func(_ *project, r *rule) []string {
		if r == nil {
			return nil
		}
		return words(r)
	}
}

// Missing returns a message per query for each kind of name that no longer exists or is not
// visible. It checks projects, project tags, rules, rulesets and categories. It reads each project
// and rule once, regardless of the number of queries.
func (v *View) Missing(visible model.ProjectGlobs, queries ...*PageQuery) [][]string {
	exists := make([]map[string]bool, len(nameable)) // by name: whether it exists
	for i, kind := range nameable {
		exists[i] = map[string]bool{}
		for _, q := range queries {
			for _, name := range q.names(i) {
				exists[i][spelled(kind.folded, name)] = false
			}
		}
	}
	v.find(visible, exists)
	out := make([][]string, len(queries))
	for n, q := range queries {
		for i, kind := range nameable {
			lost := slices.DeleteFunc(q.names(i), func(name string) bool { return exists[i][spelled(kind.folded, name)] })
			if len(lost) > 0 {
				out[n] = append(out[n], gone(kind.one, kind.many, lost))
			}
		}
	}
	return out
}

// find marks existing names as true in exists.
func (v *View) find(visible model.ProjectGlobs, exists []map[string]bool) {
	mark := func(p *project, r *rule) {
		for i, kind := range nameable {
			if len(exists[i]) == 0 {
				continue
			}
			for _, name := range kind.of(p, r) {
				if _, ok := exists[i][name]; ok {
					exists[i][name] = true
				}
			}
		}
	}
	v.d.mu.RLock()
	defer v.d.mu.RUnlock()
	s := v.d.state
	if len(exists[0])+len(exists[1]) > 0 {
		for n, p := range s.projects.entries {
			if p != nil && !s.departed[s.projects.ids[n]] && visible.Allows(p.name) {
				mark(p, nil)
			}
		}
	}
	if len(exists[2])+len(exists[3])+len(exists[4]) > 0 {
		for _, r := range s.rules.entries {
			mark(nil, r)
		}
	}
}

// names returns the distinct names of a kind in a query. The caller owns the list.
func (q *PageQuery) names(kind int) []string {
	out := slices.Clone(nameable[kind].names(&q.Filter))
	if q.Filter.Except != nil {
		out = append(out, nameable[kind].names(q.Filter.Except)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func spelled(folded bool, name string) string {
	if folded {
		return strings.ToLower(name)
	}
	return name
}

// gone returns a message about missing names of a kind.
func gone(one, many string, names []string) string {
	if len(names) == 1 {
		return fmt.Sprintf("the %s %s no longer exists", one, names[0])
	}
	more := ""
	if n := len(names) - mostMissing; n > 0 {
		names, more = names[:mostMissing], fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("the %s %s%s no longer exist", many, strings.Join(names, ", "), more)
}
