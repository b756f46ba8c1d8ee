package findings

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
)

// readQuery parses the query of a findings page.
func readQuery(c *core.Call, t model.IssueType, query string) (index.PageQuery, error) {
	if c.Server.ReadQuery == nil {
		return index.PageQuery{}, core.NewProblem(api.CodeUnavailable,
			"This server has no pages and cannot validate their queries. Use another server of the same database.", nil)
	}
	return c.Server.ReadQuery(t, query, c.Server.Clock())
}

// savedViewTag returns the ETag of a view.
func savedViewTag(v model.SavedView) string {
	return core.TagOf(struct {
		ID              int64
		Name, Query     string
		Shared, Default bool
	}{v.ID, v.Name, v.Query, v.Shared(), v.Default})
}

// savedViewsOf converts views, each with the parts that refer to deleted objects. These parts are
// not checked if view is nil.
func savedViewsOf(c *core.Call, view *index.View, list ...model.SavedView) []api.SavedView {
	out, queries := make([]api.SavedView, len(list)), make([]*index.PageQuery, len(list))
	for i, v := range list {
		out[i] = api.SavedView{
			ID: v.ID, Name: v.Name, IssueType: v.IssueType.String(), Query: v.Query, Shared: v.Shared(), Default: v.Default,
			CreatedAt: api.Time{Time: v.CreatedAt}, CreatedBy: v.CreatedBy.Label(),
		}
		q, err := readQuery(c, v.IssueType, v.Query)
		if err != nil {
			out[i].Problem = err.Error()
		}
		queries[i] = &q
	}
	if view == nil {
		return out
	}
	for i, lost := range view.Missing(c.Caller.Globs(), queries...) {
		out[i].Problem = cmp.Or(out[i].Problem, strings.Join(lost, "; "))
	}
	return out
}

// savedViewResponse returns the response with one view.
func savedViewResponse(ctx context.Context, c *core.Call, v model.SavedView) (*api.SavedViewResponse, error) {
	c.Tag = savedViewTag(v)
	view, err := c.Findings(ctx)
	if err != nil {
		return nil, err
	}
	return &api.SavedViewResponse{View: savedViewsOf(c, view, v)[0]}, nil
}

func listSavedViews(ctx context.Context, c *core.Call, _ *core.None) (*api.ListSavedViewsResponse, error) {
	list, err := c.Tx.SavedViews(ctx, c.Caller.Token.UserID)
	if err != nil {
		return nil, err
	}
	view, err := c.Findings(ctx)
	if err != nil {
		return nil, err
	}
	return &api.ListSavedViewsResponse{Views: savedViewsOf(c, view, list...)}, nil
}

// savedView returns the view of the path.
func savedView(ctx context.Context, c *core.Call) (model.SavedView, error) {
	id := c.PathID("savedViewId")
	return c.Tx.SavedView(ctx, c.Caller.Token.UserID, id)
}

func getSavedView(ctx context.Context, c *core.Call, _ *core.None) (*api.SavedViewResponse, error) {
	v, err := savedView(ctx, c)
	if err != nil {
		return nil, err
	}
	return savedViewResponse(ctx, c, v)
}

// checkedView sets the owner and the query of a view, and validates the view.
func checkedView(c *core.Call, v model.SavedView, shared bool, query string) (model.SavedView, error) {
	v.OwnerID = 0
	if !shared {
		if v.OwnerID = c.Caller.Token.UserID; v.OwnerID == 0 {
			return v, model.Invalid("body.shared", "this token has no user: share the view")
		}
	}
	if query != v.Query || v.ID == 0 {
		q, err := readQuery(c, v.IssueType, query)
		if err != nil {
			return v, core.InBody(err)
		}
		v.Query = q.Text
	}
	return v, core.InBody(model.CheckSavedView(v))
}

// chooseView sets or clears a view as the default of the token's creator.
func chooseView(ctx context.Context, c *core.Call, v *model.SavedView, chosen bool) error {
	user := c.Caller.Token.UserID
	if user == 0 {
		return model.Invalid("body.default", "this token has no user: a default view needs one")
	}
	v.Default = chosen
	return c.Tx.SetDefaultView(ctx, user, *v, chosen)
}

func createSavedView(
	ctx context.Context, c *core.Call, in *core.Request[api.CreateSavedViewRequest],
) (*api.SavedViewResponse, error) {
	b := &in.Body
	t, _ := model.ParseIssueType(b.IssueType)
	v, err := checkedView(c, model.SavedView{Name: strings.TrimSpace(model.Line(b.Name)), IssueType: t}, b.Shared, b.Query)
	if err == nil {
		v, err = c.Tx.AddSavedView(ctx, v)
	}
	if err == nil && b.Default {
		err = chooseView(ctx, c, &v, true)
	}
	if err != nil {
		return nil, err
	}
	return savedViewResponse(ctx, c, v)
}

func updateSavedView(
	ctx context.Context, c *core.Call, in *core.Request[api.UpdateSavedViewRequest],
) (*api.SavedViewResponse, error) {
	before, err := savedView(ctx, c)
	if err == nil {
		err = c.Unchanged("saved view", savedViewTag(before))
	}
	if err != nil {
		return nil, err
	}
	b, v := &in.Body, before
	if b.Name != nil {
		v.Name = strings.TrimSpace(model.Line(*b.Name))
	}
	shared, query := before.Shared(), before.Query
	if b.Shared != nil {
		shared = *b.Shared
	}
	if b.Query != nil {
		query = *b.Query
	}
	if v, err = checkedView(c, v, shared, query); err == nil {
		err = c.Tx.UpdateSavedView(ctx, before, v)
	}
	if err == nil && b.Default != nil {
		err = chooseView(ctx, c, &v, *b.Default)
	}
	if err != nil {
		return nil, err
	}
	return savedViewResponse(ctx, c, v)
}

func deleteSavedView(ctx context.Context, c *core.Call, _ *core.None) (*api.SavedViewResponse, error) {
	v, err := savedView(ctx, c)
	if err == nil {
		err = c.Unchanged("saved view", savedViewTag(v))
	}
	if err == nil {
		err = c.Tx.DeleteSavedView(ctx, v)
	}
	if err != nil {
		return nil, err
	}
	v.Default = false
	return &api.SavedViewResponse{View: savedViewsOf(c, nil, v)[0]}, nil
}

// allowedWithView lists the parameters that can be combined with a view.
var allowedWithView = []string{"view", "sort", "page", "page_size", "issue_type", "format", "group_by"}

// rejectFiltersWithView adds an error for every filter of a query that has a saved view, because the
// combination is ambiguous.
func rejectFiltersWithView(query any, bad *core.Faults) {
	v := reflect.ValueOf(query)
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("query"), ",")
		switch {
		case field.Anonymous:
			rejectFiltersWithView(v.Field(i).Interface(), bad)
		case !slices.Contains(allowedWithView, name) && !v.Field(i).IsZero():
			bad.Add("query."+name, nil, "is not allowed with a view, which has its own filters")
		}
	}
}

// viewed returns the query of a saved view. If issueType is empty, that of the view applies. Names
// are resolved as on the page. A response header lists the names of deleted objects, which select
// nothing: an empty list could be mistaken for a good result.
func viewed(
	ctx context.Context, c *core.Call, view *index.View, id int64, issueType string,
) (q index.PageQuery, err error) {
	err = c.View(ctx, func(ctx context.Context) error {
		user := c.Caller.Token.UserID
		v, err := c.Tx.SavedView(ctx, user, id)
		if err != nil {
			return model.Invalid("query.view", "saved view %d does not exist or is not visible to this token", id)
		}
		if t := v.IssueType.String(); cmp.Or(issueType, t) != t {
			return model.Invalid("query.issue_type", "must be absent or %s, the issue type of the view", t)
		}
		if q, err = readQuery(c, v.IssueType, v.Query); err != nil {
			return fmt.Errorf("saved view %d: %w", id, err)
		}
		if user == 0 && q.AboutMe() {
			return model.Invalid("query.view",
				"the view selects findings of the current user (%s), but this token has no user", model.AssigneeMe)
		}
		if user != 0 {
			me, err := c.Tx.MemberByID(ctx, user)
			if err != nil {
				return err
			}
			q.For(me.Name)
		}
		if q.Filter.Search != "" && v.IssueType == model.SCA {
			q.Filter.Named, err = c.Tx.AdvisoryNames(ctx, q.Filter.Search)
		}
		return err
	})
	if err != nil {
		return q, err
	}
	q.Filter.Visible = c.Caller.Globs()
	if lost := strings.Join(view.Missing(q.Filter.Visible, &q)[0], "; "); lost != "" {
		c.W.Header().Set(api.ViewProblemHeader, strconv.QuoteToASCII(lost))
	}
	return q, nil
}
