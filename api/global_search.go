package api

import (
	"context"
	"net/http"
)

// SearchQuery contains the parameters of a search.
type SearchQuery struct {
	Q     string `query:"q" required:"true" minLength:"1" maxLength:"200" doc:"Search text: the number of a finding (#123), the id of a vulnerability, or words of a name, case-insensitive; at most 16 words." example:"log4j"`
	Limit int64  `query:"limit" minimum:"1" maximum:"20" default:"5" doc:"Maximum number of hits of each kind."`
}

// SearchHit is one result of a search.
type SearchHit struct {
	Kind      string `json:"kind" enum:"finding,vulnerability,project,package,rule,saved_view" doc:"Kind of the hit."`
	ID        int64  `json:"id,omitempty" doc:"Id of a finding, a project or a saved view; absent for other kinds, which the name identifies." example:"12"`
	Name      string `json:"name" doc:"Name; for a finding, its vulnerability or rule." example:"acme/payments"`
	Detail    string `json:"detail,omitempty" doc:"Distinguishing detail, such as the location of a finding or the summary of a vulnerability; absent if there is none." example:"acme/payments, src/pay.py"`
	IssueType string `json:"issue_type,omitempty" enum:"sast,sca,secrets" doc:"Issue type with the most open findings; absent if there are no findings."`
	Open      int64  `json:"open" doc:"Number of open findings, each counted once; 0 for a saved view." example:"7"`
}

// SearchResponse contains the results of a search.
type SearchResponse struct {
	Hits []SearchHit `json:"hits" doc:"Hits, best first: by number or id, whole name, start of the name, starts of its words, any part."`
}

// Search searches a deployment by name, number or id.
func (c *Client) Search(ctx context.Context, deployment string, q SearchQuery) (*SearchResponse, error) {
	return answer[SearchResponse](ctx, c, call{method: http.MethodGet, path: path(deployment, "search"), query: values(q)})
}
