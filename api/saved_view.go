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
	Name      string `json:"name" doc:"What people call it." example:"Exploited and reachable"`
	IssueType string `json:"issue_type" enum:"sast,sca,secrets" doc:"Findings of which issue type it lists."`
	Query     string `json:"query" doc:"Query of the findings page: filters, order (sort), groups (group) and columns, in the one spelling that the page has for it." example:"known_exploited=true&sort=epss"`
	Shared    bool   `json:"shared" doc:"Whether it is the deployment's; else it is of whoever made the token, whom alone it shows to."`
	Default   bool   `json:"default" doc:"Whether the page of its issue type opens with it, for whoever made the token."`
	Problem   string `json:"problem,omitempty" doc:"What of it cannot be followed any more; absent when all can." example:"there is no project acme/old any more"`
	CreatedAt Time   `json:"created_at" doc:"When it was made."`
	CreatedBy string `json:"created_by" doc:"Who made it." example:"Ada"`
}

// ListSavedViewsResponse contains all views that are visible to the token's creator.
type ListSavedViewsResponse struct {
	Views []SavedView `json:"views" doc:"Views, by name."`
}

// SavedViewResponse contains one view.
type SavedViewResponse struct {
	View SavedView `json:"view" doc:"The view as it is now, or was."`
}

// CreateSavedViewRequest creates a view.
type CreateSavedViewRequest struct {
	_         struct{} `additionalProperties:"false"`
	Name      string   `json:"name" minLength:"1" maxLength:"100" doc:"What people are to call it." example:"Exploited and reachable"`
	IssueType string   `json:"issue_type" enum:"sast,sca,secrets" doc:"Findings of which issue type it lists."`
	Query     string   `json:"query,omitempty" maxLength:"2000" doc:"Query of the findings page: what stands behind its ?. Without it: all that is open." example:"known_exploited=true&sort=epss"`
	Shared    bool     `json:"shared,omitempty" doc:"Whether it is the deployment's. A token that no user made makes no others."`
	Default   bool     `json:"default,omitempty" doc:"Whether the page opens with it, for whoever made the token."`
}

// UpdateSavedViewRequest changes a view. Absent members are left unchanged. The issue type cannot
// be changed.
type UpdateSavedViewRequest struct {
	_       struct{} `additionalProperties:"false"`
	Name    *string  `json:"name,omitempty" minLength:"1" maxLength:"100" doc:"What people are to call it." example:"Exploited and reachable"`
	Query   *string  `json:"query,omitempty" maxLength:"2000" doc:"Query of the findings page." example:"known_exploited=true&sort=epss"`
	Shared  *bool    `json:"shared,omitempty" doc:"Whether it is the deployment's. One that no longer is becomes that of whoever made the token, and nobody else's default."`
	Default *bool    `json:"default,omitempty" doc:"Whether the page opens with it, for whoever made the token."`
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
