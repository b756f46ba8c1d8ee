package api

import (
	"context"
	"net/http"
)

// SearchQuery contains the parameters of a search.
type SearchQuery struct {
	Q     string `query:"q" required:"true" minLength:"1" maxLength:"200" doc:"What to look for: the number of a finding (#123), the id of a vulnerability, or words that are in a name, in any case; 16 words at most." example:"log4j"`
	Limit int64  `query:"limit" minimum:"1" maximum:"20" default:"5" doc:"Hits of each kind at most."`
}

// SearchHit is one result of a search.
type SearchHit struct {
	Kind      string `json:"kind" enum:"finding,vulnerability,project,package,rule,saved_view" doc:"What it is."`
	ID        int64  `json:"id,omitempty" doc:"Id of a finding, a project or a saved view; absent of others, which their names tell." example:"12"`
	Name      string `json:"name" doc:"Its name; of a finding what it is about: its vulnerability, or its rule." example:"acme/payments"`
	Detail    string `json:"detail,omitempty" doc:"What tells it from others: the place of a finding, the summary of a vulnerability; absent when there is nothing." example:"acme/payments, src/pay.py"`
	IssueType string `json:"issue_type,omitempty" enum:"sast,sca,secrets" doc:"Of the findings that have it, where most are open; absent where none has it."`
	Open      int64  `json:"open" doc:"Findings of it that are open, each counted once; 0 of a saved view." example:"7"`
}

// SearchResponse contains the results of a search.
type SearchResponse struct {
	Hits []SearchHit `json:"hits" doc:"The best first: by number or id, by the whole name, by its beginning, by the beginnings of words of it, by any part of it."`
}

// Search searches a deployment by name, number or id.
func (c *Client) Search(ctx context.Context, deployment string, q SearchQuery) (*SearchResponse, error) {
	return answer[SearchResponse](ctx, c, call{method: http.MethodGet, path: path(deployment, "search"), query: values(q)})
}
