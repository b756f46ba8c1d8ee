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

// readQuery reads the query of a findings page.
func readQuery(c *core.Call, t model.IssueType, query string) (index.PageQuery, error) {
	if c.Server.ReadQuery == nil {
		return index.PageQuery{}, core.NewProblem(api.CodeUnavailable,
			"This server has no pages, and reads no queries of theirs. Ask another one of the same database.", nil)
	}
	return c.Server.ReadQuery(t, query, c.Server.Clock())
}

// savedViewTag names the state of a view.
func savedViewTag(v model.SavedView) string {
	return core.TagOf(struct {
		ID              int64
		Name, Query     string
		Shared, Default bool
	}{v.ID, v.Name, v.Query, v.Shared(), v.Default})
}

// savedViewsOf are views as they are answered, each with what of it cannot be followed.
// Without the index, which may be nil, that is not looked up.
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

// savedViewResponse is a view alone.
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

// savedView finds the one that the path names.
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

// checkedView gives a view the owner and the query that it is to have, and checks all of it.
func checkedView(c *core.Call, v model.SavedView, shared bool, query string) (model.SavedView, error) {
	v.OwnerID = 0
	if !shared {
		if v.OwnerID = c.Caller.Token.UserID; v.OwnerID == 0 {
			return v, model.Invalid("body.shared", "no user made this token: share the view")
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

// chooseView makes a view the default of whoever made the token, or no longer.
func chooseView(ctx context.Context, c *core.Call, v *model.SavedView, chosen bool) error {
	user := c.Caller.Token.UserID
	if user == 0 {
		return model.Invalid("body.default", "no user made this token, so that nobody opens pages with the view")
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

// beside are the parameters that a view goes with.
var beside = []string{"view", "sort", "page", "page_size", "issue_type", "format", "group_by"}

// refuseBesideView reports every filter of a query that names a saved view: which of the
// two holds, nobody could tell.
func refuseBesideView(query any, bad *core.Faults) {
	v := reflect.ValueOf(query)
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("query"), ",")
		switch {
		case field.Anonymous:
			refuseBesideView(v.Field(i).Interface(), bad)
		case !slices.Contains(beside, name) && !v.Field(i).IsZero():
			bad.Add("query."+name, nil, "goes with no view, which has filters of its own")
		}
	}
}

// viewed reads the saved view that a query names, for an issue type; the empty one is that
// of the view. What findings stand for in it is as on the page. What the query names that is
// gone, which selects nothing, a header of the answer says: no findings would be taken for
// good news.
func viewed(
	ctx context.Context, c *core.Call, view *index.View, id int64, issueType string,
) (q index.PageQuery, err error) {
	err = c.View(ctx, func(ctx context.Context) error {
		user := c.Caller.Token.UserID
		v, err := c.Tx.SavedView(ctx, user, id)
		if err != nil {
			return model.Invalid("query.view", "there is no saved view %d that this token may use", id)
		}
		if t := v.IssueType.String(); cmp.Or(issueType, t) != t {
			return model.Invalid("query.issue_type", "the view lists findings of the issue type %s", t)
		}
		if q, err = readQuery(c, v.IssueType, v.Query); err != nil {
			return fmt.Errorf("saved view %d: %w", id, err)
		}
		if user == 0 && q.AboutMe() {
			return model.Invalid("query.view",
				"the view selects what is assigned to whoever looks (%s), and no user made this token", model.AssigneeMe)
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
