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
	View int64 `json:"view,omitempty" jsonschema:"id of a saved view, whose filters and order are taken: no other filter goes beside it, and issue_type is that of the view"`
}

// lostInView is the warning for a view that refers to deleted objects. Their names are user input,
// so they are only sent as data.
const lostInView = " Careful: the view names what is not there any more, which selects nothing; " +
	"list_saved_views says what."

// query returns the query of the view, or of the filter if there is no view.
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
	return answer(fmt.Sprintf("%d saved views; problem is what of one cannot be followed.", len(list.Views)), list.Views)
}
