package api

import (
	"context"
	"net/http"
	"strconv"
)

// ViewProblemHeader describes parts of a saved view that refer to deleted objects, as a quoted
// string. It is sent with findings, counts and exports of the view. Such a part selects nothing.
const ViewProblemHeader = "Redoubt-View-Problem"

// SavedView is a stored list of findings.
type SavedView struct {
	ID        int64  `json:"id" doc:"Id of the view." example:"3"`
	Name      string `json:"name" doc:"Display name." example:"Exploited and reachable"`
	IssueType string `json:"issue_type" enum:"sast,sca,secrets" doc:"Issue type of the listed findings."`
	Query     string `json:"query" doc:"Query of the findings page in canonical form: filters, order (sort), groups (group) and columns." example:"known_exploited=true&sort=epss"`
	Shared    bool   `json:"shared" doc:"Whether the deployment owns the view; else only the token's creator sees it."`
	Default   bool   `json:"default" doc:"Whether it is the token creator's default on the page of its issue type."`
	Problem   string `json:"problem,omitempty" doc:"Parts of the view that no longer apply; absent if there are none." example:"the project acme/old no longer exists"`
	CreatedAt Time   `json:"created_at" doc:"Creation time."`
	CreatedBy string `json:"created_by" doc:"Creator." example:"Ada"`
}

// ListSavedViewsResponse contains all views that are visible to the token's creator.
type ListSavedViewsResponse struct {
	Views []SavedView `json:"views" doc:"Views, by name."`
}

// SavedViewResponse contains one view.
type SavedViewResponse struct {
	View SavedView `json:"view" doc:"The view, after a change or before its deletion."`
}

// CreateSavedViewRequest creates a view.
type CreateSavedViewRequest struct {
	_         struct{} `additionalProperties:"false"`
	Name      string   `json:"name" minLength:"1" maxLength:"100" doc:"Display name." example:"Exploited and reachable"`
	IssueType string   `json:"issue_type" enum:"sast,sca,secrets" doc:"Issue type of the listed findings."`
	Query     string   `json:"query,omitempty" maxLength:"2000" doc:"Query of the findings page: the part after ?. Default: all open findings." example:"known_exploited=true&sort=epss"`
	Shared    bool     `json:"shared,omitempty" doc:"Whether the deployment owns the view. Required as true for tokens without a user."`
	Default   bool     `json:"default,omitempty" doc:"Whether the page opens with it for the token's creator."`
}

// UpdateSavedViewRequest changes a view. Absent members are left unchanged. The issue type cannot
// be changed.
type UpdateSavedViewRequest struct {
	_       struct{} `additionalProperties:"false"`
	Name    *string  `json:"name,omitempty" minLength:"1" maxLength:"100" doc:"Display name." example:"Exploited and reachable"`
	Query   *string  `json:"query,omitempty" maxLength:"2000" doc:"Query of the findings page." example:"known_exploited=true&sort=epss"`
	Shared  *bool    `json:"shared,omitempty" doc:"Whether the deployment owns the view. A view that is no longer shared belongs to the token's creator and is no other user's default."`
	Default *bool    `json:"default,omitempty" doc:"Whether the page opens with it for the token's creator."`
}

// ListSavedViews returns the shared views and those of the token's creator.
func (c *Client) ListSavedViews(ctx context.Context, deployment string) (*ListSavedViewsResponse, error) {
	return answer[ListSavedViewsResponse](ctx, c, call{method: http.MethodGet, path: path(deployment, "saved-views")})
}

// CreateSavedView creates a view.
func (c *Client) CreateSavedView(
	ctx context.Context, deployment string, r CreateSavedViewRequest, options ...Option,
) (*SavedViewResponse, error) {
	return answer[SavedViewResponse](ctx, c, call{
		method: http.MethodPost,
		path:   path(deployment, "saved-views"),
		body:   r,
	}, options...)
}

// GetSavedView returns one view.
func (c *Client) GetSavedView(ctx context.Context, deployment string, id int64) (*SavedViewResponse, error) {
	return answer[SavedViewResponse](
		ctx, c, call{method: http.MethodGet, path: path(deployment, "saved-views", strconv.FormatInt(id, 10))},
	)
}

// UpdateSavedView changes a view.
func (c *Client) UpdateSavedView(
	ctx context.Context, deployment string, id int64, r UpdateSavedViewRequest, options ...Option,
) (*SavedViewResponse, error) {
	return answer[SavedViewResponse](ctx, c, call{
		method: http.MethodPatch,
		path:   path(deployment, "saved-views", strconv.FormatInt(id, 10)),
		body:   r,
	}, options...)
}

// DeleteSavedView deletes a view.
func (c *Client) DeleteSavedView(
	ctx context.Context, deployment string, id int64, options ...Option,
) (*SavedViewResponse, error) {
	return answer[SavedViewResponse](ctx, c, call{
		method: http.MethodDelete,
		path:   path(deployment, "saved-views", strconv.FormatInt(id, 10)),
	}, options...)
}
