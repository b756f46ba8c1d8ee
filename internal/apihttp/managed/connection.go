package managed

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// codeHosts returns the interface to code hosts. It returns an unavailable problem if the server has
// none.
func codeHosts(c *core.Call) (core.CodeHosts, error) {
	if c.Server.Connections == nil {
		return nil, core.NewProblem(
			api.CodeUnavailable, "This server connects to no code hosts. Use another one of the same database.", nil,
		)
	}
	return c.Server.Connections, nil
}

// hooksAt returns the address of the webhooks' receiver, or "" if none is configured.
func hooksAt(c *core.Call) string {
	if c.Server.Connections == nil {
		return ""
	}
	return c.Server.Connections.HooksAt()
}

func connectionOf(c *core.Call, of model.Connection, n store.RepositoryCount) api.Connection {
	return api.Connection{
		ID: of.ID, Kind: of.Kind.String(), Name: of.Name, BaseURL: of.BaseURL, Account: of.Account,
		Follow: core.OrEmpty(of.Follow), Replies: of.Replies.String(), People: hostPeople(of.People),
		EventSource: n.EventSource(), SilentWebhooks: int64(n.Silent), WebhookProblem: n.HookProblem,
		WebhooksElsewhere: n.Elsewhere(hooksAt(c)), Problem: of.Problem,
		Repositories: int64(n.Seen), Followed: int64(n.Followed), CreatedAt: api.Time{Time: of.CreatedAt},
		CheckedAt: core.TimeOrNull(of.CheckedAt), HeardAt: core.TimeOrNull(of.WebhookAt),
	}
}

// hostPeople converts the users of a connection, ordered by login.
func hostPeople(people model.HostPeople) []api.HostPerson {
	out := make([]api.HostPerson, 0, len(people))
	for _, login := range slices.Sorted(maps.Keys(people)) {
		out = append(out, api.HostPerson{Login: login, User: people[login].User})
	}
	return out
}

func peopleOf(list []api.HostPerson) (model.HostPeople, error) {
	out := model.HostPeople{}
	for _, p := range list {
		if err := out.Add(p.Login, p.User); err != nil {
			return nil, core.InBody(err)
		}
	}
	return out, nil
}

// connectionResponse returns the response with a connection and its number of repositories.
func connectionResponse(ctx context.Context, c *core.Call, found model.Connection) (*api.ConnectionResponse, error) {
	counts, err := c.Tx.CountRepositories(ctx)
	return &api.ConnectionResponse{Connection: connectionOf(c, found, counts[found.ID])}, err
}

func listConnections(ctx context.Context, c *core.Call, _ *core.None) (*api.ListConnectionsResponse, error) {
	list, err := c.Tx.Connections(ctx)
	if err != nil {
		return nil, err
	}
	counts, err := c.Tx.CountRepositories(ctx)
	out := &api.ListConnectionsResponse{Connections: make([]api.Connection, len(list))}
	for i, one := range list {
		out.Connections[i] = connectionOf(c, one, counts[one.ID])
	}
	return out, err
}

// connection returns the connection of the path.
func connection(ctx context.Context, c *core.Call) (model.Connection, error) {
	id := c.PathID("connectionId")
	return c.Tx.Connection(ctx, id)
}

func getConnection(ctx context.Context, c *core.Call, _ *core.None) (*api.ConnectionResponse, error) {
	found, err := connection(ctx, c)
	if err != nil {
		return nil, err
	}
	return connectionResponse(ctx, c, found)
}

// runHostRequest sends requests to a code host and stores the result. The requests are sent outside of any
// transaction, so that a slow host does not block a deployment, and not for a repeated request.
func runHostRequest(
	ctx context.Context, c *core.Call, prepare func(context.Context, core.CodeHosts) (store.SaveConnection, error),
) (*api.ConnectionResponse, error) {
	return core.RunPrepared(ctx, c, func(ctx context.Context) (store.SaveConnection, error) {
		k, err := codeHosts(c)
		if err != nil {
			return nil, err
		}
		return prepare(ctx, k)
	}, func(ctx context.Context, save store.SaveConnection) (*api.ConnectionResponse, error) {
		found, err := save(ctx, c.Tx)
		if err != nil {
			return nil, err
		}
		return connectionResponse(ctx, c, found)
	})
}

// runRequestOf is runHostRequest for the connection of the path.
func runRequestOf(
	ctx context.Context, c *core.Call,
	prepare func(ctx context.Context, k core.CodeHosts, id int64) (store.SaveConnection, error),
) (*api.ConnectionResponse, error) {
	id := c.PathID("connectionId")
	err := c.View(ctx, func(ctx context.Context) error {
		_, err := c.Tx.Connection(ctx, id)
		return err
	})
	// a repeated request may have deleted it
	if err != nil && (c.Idempotent == nil || !errors.Is(err, model.ErrNotFound)) {
		return nil, err
	}
	return runHostRequest(ctx, c, func(ctx context.Context, k core.CodeHosts) (store.SaveConnection, error) {
		return prepare(ctx, k, id)
	})
}

func credentialOf(in *api.ConnectionCredential) model.HostCredential {
	if in == nil {
		return model.HostCredential{}
	}
	return model.HostCredential{
		Kind: model.CredentialKind(in.Kind), Username: in.Username, Secret: strings.TrimSpace(in.Secret),
		KnownHosts: in.KnownHosts, AppID: in.AppID, InstallationID: in.InstallationID,
	}
}

// saveInBody prefixes the error locations of save with "body.".
func saveInBody(save store.SaveConnection) store.SaveConnection {
	return func(ctx context.Context, tx *store.Tx) (model.Connection, error) {
		saved, err := save(ctx, tx)
		return saved, core.InBody(err)
	}
}

func createConnection(
	ctx context.Context, c *core.Call, in *core.Request[api.CreateConnectionRequest],
) (*api.ConnectionResponse, error) {
	kind, _ := model.ParseHostKind(in.Body.Kind)
	wanted := model.Connection{
		Kind:    kind,
		Name:    model.Line(in.Body.Name),
		BaseURL: strings.TrimSuffix(in.Body.BaseURL, "/"),
		Follow:  in.Body.Follow,
	}
	wanted.Replies, _ = model.ParseReplyPolicy(in.Body.Replies)
	var err error
	if wanted.People, err = peopleOf(in.Body.People); err != nil {
		return nil, err
	}
	return runHostRequest(ctx, c, func(ctx context.Context, k core.CodeHosts) (store.SaveConnection, error) {
		save, err := k.PrepareAdd(ctx, wanted, credentialOf(in.Body.Credential))
		return saveInBody(save), core.InBody(err)
	})
}

func updateConnection(
	ctx context.Context, c *core.Call, in *core.Request[api.UpdateConnectionRequest],
) (*api.ConnectionResponse, error) {
	change := model.ConnectionChange{Follow: in.Body.Follow}
	if in.Body.Name != nil {
		change.Name = new(model.Line(*in.Body.Name))
	}
	if in.Body.Credential != nil {
		change.Credential = new(credentialOf(in.Body.Credential))
	}
	if in.Body.Replies != nil {
		policy, _ := model.ParseReplyPolicy(*in.Body.Replies)
		change.Replies = &policy
	}
	if in.Body.People != nil {
		people, err := peopleOf(*in.Body.People)
		if err != nil {
			return nil, err
		}
		change.People = &people
	}
	return runRequestOf(ctx, c, func(ctx context.Context, k core.CodeHosts, id int64) (store.SaveConnection, error) {
		save, err := k.PrepareUpdate(ctx, c.Caller.Deployment.ID, id, change)
		return saveInBody(save), core.InBody(err)
	})
}

func testConnection(ctx context.Context, c *core.Call, _ *core.None) (*api.ConnectionResponse, error) {
	return runRequestOf(ctx, c, func(ctx context.Context, k core.CodeHosts, id int64) (store.SaveConnection, error) {
		save, hostErr, err := k.PrepareCheck(ctx, c.Caller.Deployment.ID, id) // a refusal is stored too
		if hostErr != nil {
			c.Idempotent.MayPass()
		}
		return save, err
	})
}

// makeWebhooks creates webhooks at the host. The requests are sent outside of any transaction, and
// not for a repeated request.
func makeWebhooks(ctx context.Context, c *core.Call, _ *core.None) (*api.MakeWebhooksResponse, error) {
	id := c.PathID("connectionId")
	return core.RunPrepared(ctx, c, func(ctx context.Context) (*api.MakeWebhooksResponse, error) {
		k, err := codeHosts(c)
		if err != nil {
			return nil, err
		}
		n, refused, err := k.Hook(ctx, c.Caller.Deployment.ID, c.Caller.Actor(), id, 0)
		if err = cmp.Or(ctx.Err(), err); err != nil {
			return nil, err
		}
		out := &api.MakeWebhooksResponse{Repositories: int64(n)}
		if refused != nil {
			out.Problem = model.Line(refused.Error())
			c.Idempotent.MayPass()
		}
		return out, nil
	}, func(_ context.Context, out *api.MakeWebhooksResponse) (*api.MakeWebhooksResponse, error) {
		return out, nil
	})
}

func deleteConnection(ctx context.Context, c *core.Call, _ *core.None) (*api.ConnectionResponse, error) {
	return runRequestOf(ctx, c, func(ctx context.Context, k core.CodeHosts, id int64) (store.SaveConnection, error) {
		return k.PrepareRemove(ctx, c.Caller.Deployment.ID, id)
	})
}

// defaultRepositories is the default number of repositories in a response.
const defaultRepositories = 100

// repositoryPage is the query for a page of repositories.
type repositoryPage struct {
	api.RepositoriesQuery
	core.IDPosition
}

// Resolve decodes the cursor.
func (in *repositoryPage) Resolve(ctx huma.Context) []error {
	return in.Find(ctx, "repositories "+ctx.Param("connectionId"), in.Followed, in.Cursor)
}

func listRepositories(ctx context.Context, c *core.Call, in *repositoryPage) (*api.ListRepositoriesResponse, error) {
	found, err := connection(ctx, c)
	if err != nil {
		return nil, err
	}
	q := store.RepositoryQuery{
		ConnectionID: found.ID,
		Skip:         int(in.After),
		Limit:        cmp.Or(int(in.Limit), defaultRepositories),
	}
	if in.Followed != "" {
		q.Followed = new(in.Followed == "true")
	}
	list, more, err := c.Tx.RepositoryPage(ctx, q)
	if err != nil {
		return nil, err
	}
	ids := model.Map(list, func(r model.Repository) int64 { return r.ProjectID })
	names, err := projectNames(ctx, c, ids)
	if err != nil {
		return nil, err
	}
	out := &api.ListRepositoriesResponse{Repositories: make([]api.HostRepository, len(list))}
	for i, r := range list {
		out.Repositories[i] = repositoryOf(r, names[r.ProjectID], c.Tx.Now())
	}
	if more {
		out.Cursor, err = c.Server.Cursors().Encode(in.List, int64(q.Skip+q.Limit))
	}
	return out, err
}

func repositoryOf(r model.Repository, project string, now time.Time) api.HostRepository {
	out := api.HostRepository{
		Name:           r.FullName,
		HostID:         r.HostID,
		DefaultBranch:  r.DefaultBranch,
		State:          r.State(),
		Private:        r.Private,
		URL:            r.WebURL,
		Webhook:        r.HookID != "",
		WebhookAddress: r.HookAddress,
		HeardAt:        core.TimeOrNull(r.WebhookAt),
		WebhookProblem: r.HookProblem(now),
	}
	if project != "" {
		out.Project = &project
	}
	return out
}

// projectNames returns the names of projects by id.
func projectNames(ctx context.Context, c *core.Call, ids []int64) (map[int64]string, error) {
	list, err := c.Tx.ProjectsByID(ctx, ids)
	names := make(map[int64]string, len(list))
	for _, p := range list {
		names[p.ID] = p.Name
	}
	return names, err
}

func followRepositories(
	ctx context.Context, c *core.Call, in *core.Request[api.ChooseRepositoriesRequest],
) (*api.FollowRepositoriesResponse, error) {
	found, err := connection(ctx, c)
	if err != nil {
		return nil, err
	}
	created, err := c.Tx.FollowRepositories(ctx, found.ID, in.Body.Names)
	out := &api.FollowRepositoriesResponse{Projects: []string{}}
	for _, p := range created {
		out.Projects = append(out.Projects, p.Name)
	}
	return out, err
}

func unfollowRepositories(
	ctx context.Context, c *core.Call, in *core.Request[api.ChooseRepositoriesRequest],
) (*api.UnfollowRepositoriesResponse, error) {
	found, err := connection(ctx, c)
	if err != nil {
		return nil, err
	}
	left, err := c.Tx.LeaveRepositories(ctx, found.ID, in.Body.Names)
	out := &api.UnfollowRepositoriesResponse{Repositories: []string{}}
	for _, r := range left {
		out.Repositories = append(out.Repositories, r.FullName)
	}
	return out, err
}

// defaultDeliveries is the default number of deliveries in a response.
const defaultDeliveries = 100

// deliveryPage is the query for a page of deliveries.
type deliveryPage struct {
	api.DeliveriesQuery
	core.IDPosition
}

// Resolve decodes the cursor.
func (in *deliveryPage) Resolve(ctx huma.Context) []error {
	return in.Find(ctx, "deliveries "+ctx.Param("connectionId"), nil, in.Cursor)
}

func listDeliveries(ctx context.Context, c *core.Call, in *deliveryPage) (*api.ListDeliveriesResponse, error) {
	found, err := connection(ctx, c)
	if err != nil {
		return nil, err
	}
	list, more, err := c.Tx.Deliveries(ctx, store.DeliveryQuery{
		ConnectionID: found.ID,
		Before:       in.After,
		Limit:        cmp.Or(int(in.Limit), defaultDeliveries),
	})
	if err != nil {
		return nil, err
	}
	out := &api.ListDeliveriesResponse{Deliveries: make([]api.Delivery, len(list))}
	for i, d := range list {
		out.Deliveries[i] = api.Delivery{
			ID:         d.ID,
			Event:      d.Event,
			HostID:     d.Repository,
			Outcome:    d.Outcome,
			ReceivedAt: api.Time{Time: d.ReceivedAt},
		}
	}
	if more {
		out.Cursor, err = c.Server.Cursors().Encode(in.List, list[len(list)-1].ID)
	}
	return out, err
}
