package api

import (
	"context"
	"iter"
	"net/http"
	"strconv"
)

func pathOf(deployment, noun string, id int64, more ...string) string {
	return path(append([]string{deployment, noun, strconv.FormatInt(id, 10)}, more...)...)
}

// ListConnections answers all connections to code hosts.
func (c *Client) ListConnections(ctx context.Context, deployment string) (*ListConnectionsResponse, error) {
	return answer[ListConnectionsResponse](ctx, c, call{method: http.MethodGet, path: path(deployment, "connections")})
}

// CreateConnection connects a code host, once it has answered.
func (c *Client) CreateConnection(
	ctx context.Context, deployment string, r CreateConnectionRequest, options ...Option,
) (*ConnectionResponse, error) {
	return answer[ConnectionResponse](ctx, c, call{
		method: http.MethodPost,
		path:   path(deployment, "connections"),
		body:   r,
	}, options...)
}

// GetConnection answers one connection.
func (c *Client) GetConnection(ctx context.Context, deployment string, id int64) (*ConnectionResponse, error) {
	return answer[ConnectionResponse](ctx, c, call{method: http.MethodGet, path: pathOf(deployment, "connections", id)})
}

// UpdateConnection changes a connection.
func (c *Client) UpdateConnection(
	ctx context.Context, deployment string, id int64, r UpdateConnectionRequest, options ...Option,
) (*ConnectionResponse, error) {
	return answer[ConnectionResponse](ctx, c, call{
		method: http.MethodPatch,
		path:   pathOf(deployment, "connections", id),
		body:   r,
	}, options...)
}

// DeleteConnection forgets a connection; its projects stay.
func (c *Client) DeleteConnection(
	ctx context.Context, deployment string, id int64, options ...Option,
) (*ConnectionResponse, error) {
	return answer[ConnectionResponse](ctx, c, call{
		method: http.MethodDelete,
		path:   pathOf(deployment, "connections", id),
	}, options...)
}

// TestConnection asks the host now; what went wrong is the answer's problem.
func (c *Client) TestConnection(
	ctx context.Context, deployment string, id int64, options ...Option,
) (*ConnectionResponse, error) {
	return answer[ConnectionResponse](ctx, c, call{
		method: http.MethodPost,
		path:   pathOf(deployment, "connections", id, "test"),
	}, options...)
}

// MakeWebhooks has the host tell the server of all repositories that are projects.
func (c *Client) MakeWebhooks(
	ctx context.Context, deployment string, id int64, options ...Option,
) (*MakeWebhooksResponse, error) {
	return answer[MakeWebhooksResponse](ctx, c, call{
		method: http.MethodPost,
		path:   pathOf(deployment, "connections", id, "webhooks"),
	}, options...)
}

// ListRepositories answers a page of what a connection sees.
func (c *Client) ListRepositories(
	ctx context.Context, deployment string, id int64, q RepositoriesQuery,
) (*ListRepositoriesResponse, error) {
	return answer[ListRepositoriesResponse](ctx, c, call{
		method: http.MethodGet,
		path:   pathOf(deployment, "connections", id, "repositories"),
		query:  values(q),
	})
}

// Repositories yields all that a connection sees, by name.
func (c *Client) Repositories(
	ctx context.Context, deployment string, id int64, q RepositoriesQuery,
) iter.Seq2[HostRepository, error] {
	return cursored(&q.Cursor, func() (*ListRepositoriesResponse, error) {
		return c.ListRepositories(ctx, deployment, id, q)
	},
		func(a *ListRepositoriesResponse) ([]HostRepository, string) { return a.Repositories, a.Cursor })
}

// FollowRepositories makes projects of repositories.
func (c *Client) FollowRepositories(
	ctx context.Context, deployment string, id int64, r ChooseRepositoriesRequest, options ...Option,
) (*FollowRepositoriesResponse, error) {
	return answer[FollowRepositoriesResponse](ctx, c, call{
		method: http.MethodPost,
		path:   pathOf(deployment, "connections", id, "repositories", "follow"),
		body:   r,
	}, options...)
}

// UnfollowRepositories parts repositories from their projects, which stay.
func (c *Client) UnfollowRepositories(
	ctx context.Context, deployment string, id int64, r ChooseRepositoriesRequest, options ...Option,
) (*UnfollowRepositoriesResponse, error) {
	return answer[UnfollowRepositoriesResponse](ctx, c, call{
		method: http.MethodPost,
		path:   pathOf(deployment, "connections", id, "repositories", "unfollow"),
		body:   r,
	}, options...)
}

// ListDeliveries answers a page of the webhooks that a connection heard.
func (c *Client) ListDeliveries(
	ctx context.Context, deployment string, id int64, q DeliveriesQuery,
) (*ListDeliveriesResponse, error) {
	return answer[ListDeliveriesResponse](ctx, c, call{
		method: http.MethodGet,
		path:   pathOf(deployment, "connections", id, "deliveries"),
		query:  values(q),
	})
}

// ListRuns answers a page of managed runs, the newest first.
func (c *Client) ListRuns(ctx context.Context, deployment string, q RunsQuery) (*ListRunsResponse, error) {
	return answer[ListRunsResponse](ctx, c, call{method: http.MethodGet, path: path(deployment, "runs"), query: values(q)})
}

// Runs yields all managed runs, the newest first.
func (c *Client) Runs(ctx context.Context, deployment string, q RunsQuery) iter.Seq2[Run, error] {
	return cursored(&q.Cursor, func() (*ListRunsResponse, error) { return c.ListRuns(ctx, deployment, q) },
		func(a *ListRunsResponse) ([]Run, string) { return a.Runs, a.Cursor })
}

// StartRun has a project scanned now.
func (c *Client) StartRun(
	ctx context.Context, deployment string, r StartRunRequest, options ...Option,
) (*RunResponse, error) {
	return answer[RunResponse](ctx, c, call{method: http.MethodPost, path: path(deployment, "runs"), body: r}, options...)
}

// GetRun answers one managed run.
func (c *Client) GetRun(ctx context.Context, deployment string, id int64) (*RunResponse, error) {
	return answer[RunResponse](ctx, c, call{method: http.MethodGet, path: pathOf(deployment, "runs", id)})
}

// GetRunLog answers a piece of the log of a managed run.
func (c *Client) GetRunLog(ctx context.Context, deployment string, id int64, q RunLogQuery) (*RunLogResponse, error) {
	return answer[RunLogResponse](ctx, c, call{
		method: http.MethodGet,
		path:   pathOf(deployment, "runs", id, "log"),
		query:  values(q),
	})
}

// CancelRun ends a managed run.
func (c *Client) CancelRun(ctx context.Context, deployment string, id int64, options ...Option) (*RunResponse, error) {
	return answer[RunResponse](ctx, c, call{
		method: http.MethodPost,
		path:   pathOf(deployment, "runs", id, "cancel"),
	}, options...)
}

// RetryRun queues anew what a run did that ended.
func (c *Client) RetryRun(ctx context.Context, deployment string, id int64, options ...Option) (*RunResponse, error) {
	return answer[RunResponse](ctx, c, call{
		method: http.MethodPost,
		path:   pathOf(deployment, "runs", id, "retry"),
	}, options...)
}

// ListRunners answers who makes managed runs.
func (c *Client) ListRunners(ctx context.Context, deployment string) (*ListRunnersResponse, error) {
	return answer[ListRunnersResponse](ctx, c, call{method: http.MethodGet, path: path(deployment, "runners")})
}

// RevokeRunner puts the token of a runner out of force.
func (c *Client) RevokeRunner(
	ctx context.Context, deployment string, id int64, options ...Option,
) (*RevokeRunnerResponse, error) {
	return answer[RevokeRunnerResponse](ctx, c, call{
		method: http.MethodDelete,
		path:   pathOf(deployment, "runners", id),
	}, options...)
}
