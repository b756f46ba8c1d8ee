package server

import (
	"context"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/globalsearch"
)

// search finds by names and numbers, what lists show to the token.
func search(ctx context.Context, c *call, in *api.SearchQuery) (*api.SearchResponse, error) {
	q, err := globalsearch.ParseQuery(in.Q)
	if err != nil {
		return nil, inPart("query.", err)
	}
	findings, err := c.findings(ctx)
	if err != nil {
		return nil, err
	}
	by := globalsearch.Caller{UserID: c.caller.Token.UserID, Projects: c.caller.Globs()}
	hits, err := globalsearch.Find(ctx, c.tx, findings, by, q, int(in.Limit))
	if err != nil {
		return nil, err
	}
	out := &api.SearchResponse{Hits: make([]api.SearchHit, len(hits))}
	for i, h := range hits {
		out.Hits[i] = api.SearchHit{
			Kind:      string(h.Kind),
			ID:        h.ID,
			Name:      h.Name,
			Detail:    h.Detail,
			IssueType: h.IssueType.String(),
			Open:      int64(h.Open),
		}
	}
	return out, nil
}
