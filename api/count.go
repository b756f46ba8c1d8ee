package api

import (
	"context"
	"net/http"
)

// CountFindingsQuery selects findings to count and the groups to count them by.
type CountFindingsQuery struct {
	FindingsSelection
	GroupBy []string `query:"group_by,explode" enum:"issue_type,severity,status,triage_reason,confidence,repository,repository_tag,repository_visibility,ref,rule,ruleset,category,policy_mode,autotriage_verdict,component_tag,click_to_fix_pr_state,exposure,transitivity,is_malicious,dependency,epss_probability,known_exploited,severity_unrated,secret_type,validation_state,assignee,due" doc:"Members to count by, each separately. A finding counts for each of its values, and for no value if it has none."`
	Limit   int64    `query:"limit" minimum:"1" maximum:"10000" default:"1000" doc:"Maximum number of values per group, most frequent first."`
}

// CountFindingsResponse contains the number of findings, in total and by group.
type CountFindingsResponse struct {
	Total  int64               `json:"total" doc:"Number of findings that match the filters." example:"42"`
	Groups []FindingsCountedBy `json:"groups" doc:"Requested groups, in the requested order."`
}

// FindingsCountedBy contains the counts of one group.
type FindingsCountedBy struct {
	GroupBy string          `json:"group_by" doc:"Member whose values are counted." example:"severity"`
	Values  []FindingsCount `json:"values" doc:"Values by descending count, then by value."`
	More    int64           `json:"more" doc:"Number of further values." example:"0"`
}

// FindingsCount is the number of findings with one value.
type FindingsCount struct {
	Value string `json:"value" doc:"The value, spelled as in its filter; monitor, comment or block for policy_mode." example:"critical"`
	Count int64  `json:"count" doc:"Number of findings with the value." example:"7"`
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
