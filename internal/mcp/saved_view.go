package mcp

import (
	"context"
	"fmt"
	"reflect"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/redoubt/redoubt/api"
)

// ofView names a saved view in place of a filter.
type ofView struct {
	View int64 `json:"view,omitempty" jsonschema:"id of a saved view, whose filters and order are taken: no other filter goes beside it, and issue_type is that of the view"`
}

// lostInView follows what is said of a view that cannot be followed as a whole. The names are
// people's, and stand where data does.
const lostInView = " Careful: the view names what is not there any more, which selects nothing; " +
	"list_saved_views says what."

// query is the filter, or the view in its place.
func (v ofView) query(f findingsFilter) (api.FindingsQuery, error) {
	if v.View == 0 {
		return f.query()
	}
	if v.View < 0 {
		return api.FindingsQuery{}, fmt.Errorf("view is %d: views have ids above 0", v.View)
	}
	if !reflect.DeepEqual(f, findingsFilter{IssueType: f.IssueType}) {
		return api.FindingsQuery{}, fmt.Errorf("view %d goes with no other filter: it has its own", v.View)
	}
	return api.FindingsQuery{View: v.View, IssueType: f.IssueType}, nil
}

// warning is what to say of a view beside an answer; nothing where all of it is there.
func (a *assistant) warning(ctx context.Context, v ofView) (string, error) {
	if v.View == 0 {
		return "", nil
	}
	r, err := a.Client.GetSavedView(ctx, a.Deployment, v.View)
	if err != nil || r.View.Problem == "" {
		return "", err
	}
	return lostInView, nil
}

func (a *assistant) listSavedViews(ctx context.Context, _ struct{}) (*sdk.CallToolResult, error) {
	list, err := a.Client.ListSavedViews(ctx, a.Deployment)
	if err != nil {
		return nil, err
	}
	return answer(fmt.Sprintf("%d saved views; problem is what of one cannot be followed.", len(list.Views)), list.Views)
}
