package findings

import (
	"cmp"
	"context"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
)

// countInput is the query of counts, with its filters.
type countInput struct {
	api.CountFindingsQuery
	filters []model.FindingFilter
}

// Resolve converts the parameters to filters.
func (in *countInput) Resolve(ctx huma.Context) []error {
	var bad core.Faults
	in.filters = narrowed(core.CallOf(ctx.Context()), &in.FindingsSelection, &bad)
	return bad
}

// byIssueType groups by issue type, which is not a facet: each partition has one.
const byIssueType = "issue_type"

// countedBy maps the values of group_by to facets.
var countedBy = map[string]index.Facet{
	"severity": index.FacetSeverity, "status": index.FacetStatus,
	"triage_reason": index.FacetReason, "confidence": index.FacetConfidence,
	"repository": index.FacetProject, "repository_tag": index.FacetProjectTag,
	"repository_visibility": index.FacetVisibility, "ref": index.FacetRef,
	"rule": index.FacetRule, "ruleset": index.FacetRuleset,
	"category": index.FacetCategory, "policy_mode": index.FacetMode,
	"autotriage_verdict": index.FacetVerdict,
	"component_tag":      index.FacetComponent, "click_to_fix_pr_state": index.FacetPR,
	"exposure": index.FacetReachability, "transitivity": index.FacetTransitivity, "is_malicious": index.FacetMalicious,
	"dependency": index.FacetPackage, "epss_probability": index.FacetEPSS,
	"known_exploited": index.FacetExploited, "severity_unrated": index.FacetUnrated,
	"secret_type": index.FacetSecretType, "validation_state": index.FacetValidation, "assignee": index.FacetAssignee,
	"due": index.FacetDue,
}

// countFindings counts findings of all issue types in the index.
func countFindings(ctx context.Context, c *core.Call, in *countInput) (*api.CountFindingsResponse, error) {
	view, err := c.Findings(ctx)
	if err != nil {
		return nil, err
	}
	filters, err := selected(ctx, c, view, &in.FindingsSelection, in.filters)
	if err != nil {
		return nil, err
	}
	var names []string // without duplicates
	var facets []index.Facet
	for _, name := range in.GroupBy {
		if !slices.Contains(names, name) {
			names, facets = append(names, name), append(facets, countedBy[name])
		}
	}
	out := &api.CountFindingsResponse{Groups: []api.FindingsCountedBy{}}
	counts := map[string]map[string]int{}
	for _, name := range names {
		counts[name] = map[string]int{}
	}
	for _, f := range filters {
		total, by := view.CountBy(f, facets...)
		out.Total += int64(total)
		for i, name := range names {
			if name == byIssueType && total > 0 {
				counts[name][f.IssueType.String()] = total
			}
			if f.IssueType != model.SCA &&
				slices.Contains([]string{"is_malicious", "known_exploited", "severity_unrated", "epss_probability"}, name) {
				continue // the index counts false or none for all other issue types
			}
			for value, n := range by[facets[i]] {
				counts[name][value] += n
			}
		}
	}
	for _, name := range names {
		out.Groups = append(out.Groups, groupOf(name, counts[name], int(in.Limit)))
	}
	return out, nil
}

// groupOf returns the counts of a group, the most frequent values first.
func groupOf(name string, counts map[string]int, limit int) api.FindingsCountedBy {
	all := make([]api.FindingsCount, 0, len(counts))
	for value, n := range counts {
		all = append(all, api.FindingsCount{Value: value, Count: int64(n)})
	}
	slices.SortFunc(all, func(a, b api.FindingsCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value))
	})
	shown := min(limit, len(all))
	return api.FindingsCountedBy{GroupBy: name, Values: all[:shown], More: int64(len(all) - shown)}
}
