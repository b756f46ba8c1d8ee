package findings

import (
	"context"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/globalsearch"
)

// search returns the objects that match a name or a number and are visible to the token.
func search(ctx context.Context, c *core.Call, in *api.SearchQuery) (*api.SearchResponse, error) {
	q, err := globalsearch.ParseQuery(in.Q)
	if err != nil {
		return nil, core.InPart("query.", err)
	}
	findings, err := c.Findings(ctx)
	if err != nil {
		return nil, err
	}
	by := globalsearch.Caller{UserID: c.Caller.Token.UserID, Projects: c.Caller.Globs()}
	hits, err := globalsearch.Find(ctx, c.Tx, findings, by, q, int(in.Limit))
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
