package mcp

import (
	"context"
	"fmt"
	"reflect"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/redoubt/redoubt/api"
)

// ofView identifies a saved view that replaces a filter.
type ofView struct {
	View int64 `json:"view,omitempty" jsonschema:"id of a saved view, which sets filters and order: no other filter is allowed, and issue_type must match the view"`
}

// lostInView is the warning for a view that refers to deleted objects. Their names are user input,
// so they are only sent as data.
const lostInView = " Warning: the view refers to deleted objects, which match nothing; see list_saved_views."

// query returns the query of the view, or of the filter if there is no view.
func (v ofView) query(f findingsFilter) (api.FindingsQuery, error) {
	if v.View == 0 {
		return f.query()
	}
	if v.View < 0 {
		return api.FindingsQuery{}, fmt.Errorf("invalid view %d: ids of views start at 1", v.View)
	}
	if !reflect.DeepEqual(f, findingsFilter{IssueType: f.IssueType}) {
		return api.FindingsQuery{}, fmt.Errorf("view %d cannot be combined with other filters", v.View)
	}
	return api.FindingsQuery{View: v.View, IssueType: f.IssueType}, nil
}

// warning returns lostInView if the view refers to deleted objects, or else "".
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
	return answer(fmt.Sprintf("%d saved views; problem describes invalid parts of a view.", len(list.Views)), list.Views)
}
