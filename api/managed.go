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

// ListConnections returns all connections to code hosts.
func (c *Client) ListConnections(ctx context.Context, deployment string) (*ListConnectionsResponse, error) {
	return answer[ListConnectionsResponse](ctx, c, call{method: http.MethodGet, path: path(deployment, "connections")})
}

// CreateConnection connects a code host after its response was verified.
func (c *Client) CreateConnection(
	ctx context.Context, deployment string, r CreateConnectionRequest, options ...Option,
) (*ConnectionResponse, error) {
	return answer[ConnectionResponse](ctx, c, call{
		method: http.MethodPost,
		path:   path(deployment, "connections"),
		body:   r,
	}, options...)
}

// GetConnection returns one connection.
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

// DeleteConnection deletes a connection. Its projects remain.
func (c *Client) DeleteConnection(
	ctx context.Context, deployment string, id int64, options ...Option,
) (*ConnectionResponse, error) {
	return answer[ConnectionResponse](ctx, c, call{
		method: http.MethodDelete,
		path:   pathOf(deployment, "connections", id),
	}, options...)
}

// TestConnection tests the connection to the host. A failure is reported in the connection's
// problem.
func (c *Client) TestConnection(
	ctx context.Context, deployment string, id int64, options ...Option,
) (*ConnectionResponse, error) {
	return answer[ConnectionResponse](ctx, c, call{
		method: http.MethodPost,
		path:   pathOf(deployment, "connections", id, "test"),
	}, options...)
}

// MakeWebhooks creates webhooks at the host for all repositories that are projects.
func (c *Client) MakeWebhooks(
	ctx context.Context, deployment string, id int64, options ...Option,
) (*MakeWebhooksResponse, error) {
	return answer[MakeWebhooksResponse](ctx, c, call{
		method: http.MethodPost,
		path:   pathOf(deployment, "connections", id, "webhooks"),
	}, options...)
}

// ListRepositories returns a page of the repositories of a connection.
func (c *Client) ListRepositories(
	ctx context.Context, deployment string, id int64, q RepositoriesQuery,
) (*ListRepositoriesResponse, error) {
	return answer[ListRepositoriesResponse](ctx, c, call{
		method: http.MethodGet,
		path:   pathOf(deployment, "connections", id, "repositories"),
		query:  values(q),
	})
}

// Repositories yields all repositories of a connection, by name.
func (c *Client) Repositories(
	ctx context.Context, deployment string, id int64, q RepositoriesQuery,
) iter.Seq2[HostRepository, error] {
	return cursored(&q.Cursor, func() (*ListRepositoriesResponse, error) {
		return c.ListRepositories(ctx, deployment, id, q)
	},
		func(a *ListRepositoriesResponse) ([]HostRepository, string) { return a.Repositories, a.Cursor })
}

// FollowRepositories creates projects for repositories.
func (c *Client) FollowRepositories(
	ctx context.Context, deployment string, id int64, r ChooseRepositoriesRequest, options ...Option,
) (*FollowRepositoriesResponse, error) {
	return answer[FollowRepositoriesResponse](ctx, c, call{
		method: http.MethodPost,
		path:   pathOf(deployment, "connections", id, "repositories", "follow"),
		body:   r,
	}, options...)
}

// UnfollowRepositories detaches repositories from their projects. The projects remain.
func (c *Client) UnfollowRepositories(
	ctx context.Context, deployment string, id int64, r ChooseRepositoriesRequest, options ...Option,
) (*UnfollowRepositoriesResponse, error) {
	return answer[UnfollowRepositoriesResponse](ctx, c, call{
		method: http.MethodPost,
		path:   pathOf(deployment, "connections", id, "repositories", "unfollow"),
		body:   r,
	}, options...)
}

// ListDeliveries returns a page of the webhooks that a connection received.
func (c *Client) ListDeliveries(
	ctx context.Context, deployment string, id int64, q DeliveriesQuery,
) (*ListDeliveriesResponse, error) {
	return answer[ListDeliveriesResponse](ctx, c, call{
		method: http.MethodGet,
		path:   pathOf(deployment, "connections", id, "deliveries"),
		query:  values(q),
	})
}

// ListRuns returns a page of managed runs, newest first.
func (c *Client) ListRuns(ctx context.Context, deployment string, q RunsQuery) (*ListRunsResponse, error) {
	return answer[ListRunsResponse](ctx, c, call{method: http.MethodGet, path: path(deployment, "runs"), query: values(q)})
}

// Runs yields all managed runs, newest first.
func (c *Client) Runs(ctx context.Context, deployment string, q RunsQuery) iter.Seq2[Run, error] {
	return cursored(&q.Cursor, func() (*ListRunsResponse, error) { return c.ListRuns(ctx, deployment, q) },
		func(a *ListRunsResponse) ([]Run, string) { return a.Runs, a.Cursor })
}

// StartRun starts a scan of a project.
func (c *Client) StartRun(
	ctx context.Context, deployment string, r StartRunRequest, options ...Option,
) (*RunResponse, error) {
	return answer[RunResponse](ctx, c, call{method: http.MethodPost, path: path(deployment, "runs"), body: r}, options...)
}

// GetRun returns one managed run.
func (c *Client) GetRun(ctx context.Context, deployment string, id int64) (*RunResponse, error) {
	return answer[RunResponse](ctx, c, call{method: http.MethodGet, path: pathOf(deployment, "runs", id)})
}

// GetRunLog returns a part of the log of a managed run.
func (c *Client) GetRunLog(ctx context.Context, deployment string, id int64, q RunLogQuery) (*RunLogResponse, error) {
	return answer[RunLogResponse](ctx, c, call{
		method: http.MethodGet,
		path:   pathOf(deployment, "runs", id, "log"),
		query:  values(q),
	})
}

// CancelRun cancels a managed run.
func (c *Client) CancelRun(ctx context.Context, deployment string, id int64, options ...Option) (*RunResponse, error) {
	return answer[RunResponse](ctx, c, call{
		method: http.MethodPost,
		path:   pathOf(deployment, "runs", id, "cancel"),
	}, options...)
}

// RetryRun queues a new run with the parameters of an ended one.
func (c *Client) RetryRun(ctx context.Context, deployment string, id int64, options ...Option) (*RunResponse, error) {
	return answer[RunResponse](ctx, c, call{
		method: http.MethodPost,
		path:   pathOf(deployment, "runs", id, "retry"),
	}, options...)
}

// ListRunners returns the runners of managed runs.
func (c *Client) ListRunners(ctx context.Context, deployment string) (*ListRunnersResponse, error) {
	return answer[ListRunnersResponse](ctx, c, call{method: http.MethodGet, path: path(deployment, "runners")})
}

// RevokeRunner revokes the token of a runner.
func (c *Client) RevokeRunner(
	ctx context.Context, deployment string, id int64, options ...Option,
) (*RevokeRunnerResponse, error) {
	return answer[RevokeRunnerResponse](ctx, c, call{
		method: http.MethodDelete,
		path:   pathOf(deployment, "runners", id),
	}, options...)
}
