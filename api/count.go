package api

import (
	"context"
	"net/http"
)

// CountFindingsQuery selects findings to count and the groups to count them by.
type CountFindingsQuery struct {
	FindingsSelection
	GroupBy []string `query:"group_by,explode" enum:"issue_type,severity,status,triage_reason,confidence,repository,repository_tag,repository_visibility,ref,rule,ruleset,category,policy_mode,autotriage_verdict,component_tag,click_to_fix_pr_state,exposure,transitivity,is_malicious,dependency,epss_probability,known_exploited,severity_unrated,secret_type,validation_state,assignee,due" doc:"What to count by, each apart. What a finding has several of, it counts for each; what it has none of, for none."`
	Limit   int64    `query:"limit" minimum:"1" maximum:"10000" default:"1000" doc:"Values of a group at most, the most frequent first."`
}

// CountFindingsResponse contains the number of findings, in total and by group.
type CountFindingsResponse struct {
	Total  int64               `json:"total" doc:"Findings that the filters select." example:"42"`
	Groups []FindingsCountedBy `json:"groups" doc:"What was asked for, in that order."`
}

// FindingsCountedBy contains the counts of one group.
type FindingsCountedBy struct {
	GroupBy string          `json:"group_by" doc:"What these are values of." example:"severity"`
	Values  []FindingsCount `json:"values" doc:"The most frequent first, then by value."`
	More    int64           `json:"more" doc:"Further values that have findings." example:"0"`
}

// FindingsCount is the number of findings with one value.
type FindingsCount struct {
	Value string `json:"value" doc:"The value, in the words of its filter; monitor, comment or block of policy_mode." example:"critical"`
	Count int64  `json:"count" doc:"Findings that have it." example:"7"`
}

// CountFindings counts findings.
func (c *Client) CountFindings(
	ctx context.Context, deployment string, q CountFindingsQuery,
) (*CountFindingsResponse, error) {
	return answer[CountFindingsResponse](ctx, c, call{
		method: http.MethodGet,
		path:   path(deployment, "findings", "counts"),
		query:  values(q),
	})
}
