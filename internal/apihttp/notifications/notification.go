package notifications

import (
	"cmp"
	"context"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/notify"
	"github.com/redoubt/redoubt/internal/store"
)

// notifier returns the server's notifier. It returns an unavailable problem if there is none.
func notifier(c *core.Call) (*notify.Notifier, error) {
	if c.Server.Notifier == nil {
		return nil, core.NewProblem(
			api.CodeUnavailable, "This server sends no notifications. Use another server of the same database.", nil,
		)
	}
	return c.Server.Notifier, nil
}

func notificationRuleOf(r model.NotificationRule) api.NotificationRule {
	out := api.NotificationRule{
		ID: r.ID, Name: r.Name, Events: r.Events.Names(), MinSeverity: r.MinSeverity.String(),
		IssueTypes: r.Products.Names(), Filter: r.Filter, MissingDays: int64(r.MissingDays),
		Channel: r.Channel.String(), Host: r.Host, To: core.OrEmpty(r.To),
		Digest: cmp.Or(r.Digest, model.DigestNone).String(), Paused: r.Paused, Problem: r.Problem,
		CreatedAt: api.Time{Time: r.CreatedAt},
	}
	return out
}

func notificationOf(n model.Notification) api.Notification {
	return api.Notification{
		ID: n.ID, Event: n.Message.Event.String(), Title: n.Message.Title, To: n.Receiver.Address,
		State: n.State.String(), Attempts: int64(n.Attempts), Status: int64(n.Status),
		Answer: n.Answer, Problem: n.Problem, Test: n.Message.Test, CreatedAt: api.Time{Time: n.CreatedAt},
		DueAt: api.Time{Time: n.DueAt}, EndedAt: core.TimeOrNull(n.EndedAt),
	}
}

func notificationsOf(list []model.Notification) []api.Notification {
	return model.Map(list, notificationOf)
}

func listNotificationRules(
	ctx context.Context, c *core.Call, _ *core.None,
) (*api.ListNotificationRulesResponse, error) {
	list, err := c.Tx.NotificationRules(ctx)
	out := &api.ListNotificationRulesResponse{Rules: make([]api.NotificationRule, len(list))}
	for i, r := range list {
		out.Rules[i] = notificationRuleOf(r)
	}
	return out, err
}

// notificationRule returns the rule of the path.
func notificationRule(ctx context.Context, c *core.Call) (model.NotificationRule, error) {
	id := c.PathID("notificationRuleId")
	return c.Tx.NotificationRule(ctx, id)
}

func getNotificationRule(ctx context.Context, c *core.Call, _ *core.None) (*api.NotificationRuleResponse, error) {
	r, err := notificationRule(ctx, c)
	return &api.NotificationRuleResponse{Rule: notificationRuleOf(r)}, err
}

func eventsOf(names []string) (events model.NotificationEvents) {
	for _, e := range core.Parsed(names, model.ParseNotificationEvent) {
		events = events.With(e)
	}
	return events
}

func productsOf(names []string) (products model.Products) {
	for _, t := range core.Parsed(names, model.ParseIssueType) {
		products = products.With(t)
	}
	return products
}

// changeRule changes a rule and returns its response. Under an Idempotency-Key the secret in the
// stored response is encrypted.
func changeRule(
	ctx context.Context, c *core.Call,
	change func(ctx context.Context, n *notify.Notifier) (model.NotificationRule, string, error),
) (*api.NotificationRuleResponse, error) {
	n, err := notifier(c)
	if err != nil {
		return nil, err
	}
	deployment := c.Caller.Deployment.ID
	out, err := core.RunIdempotent(ctx, c, func(ctx context.Context) (*api.NotificationRuleResponse, error) {
		r, secret, err := change(ctx, n)
		return &api.NotificationRuleResponse{
			Rule:   notificationRuleOf(r),
			Secret: n.Hide(deployment, secret),
		}, core.InBody(err)
	})
	if err == nil {
		out.Secret, err = n.Show(deployment, out.Secret)
	}
	return out, err
}

func createNotificationRule(
	ctx context.Context, c *core.Call, in *core.Request[api.CreateNotificationRuleRequest],
) (*api.NotificationRuleResponse, error) {
	b := in.Body
	channel, _ := model.ParseNotificationChannel(b.Channel)
	digest, _ := model.ParseNotificationDigest(b.Digest)
	least, _ := model.ParseSeverity(b.MinSeverity)
	r := model.NotificationRule{
		Name: model.Line(b.Name), Events: eventsOf(b.Events), MinSeverity: least,
		Products: productsOf(b.IssueTypes), Filter: b.Filter, MissingDays: int(b.MissingDays),
		Channel: channel, To: b.To, Digest: cmp.Or(digest, model.DigestNone), Paused: b.Paused,
	}
	return changeRule(ctx, c, func(ctx context.Context, n *notify.Notifier) (model.NotificationRule, string, error) {
		return n.Add(ctx, c.Tx, r, strings.TrimSpace(b.URL))
	})
}

func updateNotificationRule(
	ctx context.Context, c *core.Call, in *core.Request[api.UpdateNotificationRuleRequest],
) (*api.NotificationRuleResponse, error) {
	return changeRule(ctx, c, func(ctx context.Context, n *notify.Notifier) (model.NotificationRule, string, error) {
		r, err := notificationRule(ctx, c)
		if err != nil {
			return r, "", err
		}
		changeNotificationRule(&r, in.Body)
		r, err = n.Change(ctx, c.Tx, r, strings.TrimSpace(in.Body.URL))
		return r, "", err
	})
}

// changeNotificationRule applies the members of a request to a rule.
func changeNotificationRule(r *model.NotificationRule, b api.UpdateNotificationRuleRequest) {
	if b.Name != nil {
		r.Name = model.Line(*b.Name)
	}
	if b.Events != nil {
		r.Events = eventsOf(*b.Events)
	}
	if b.MinSeverity != nil {
		r.MinSeverity, _ = model.ParseSeverity(*b.MinSeverity)
	}
	if b.IssueTypes != nil {
		r.Products = productsOf(*b.IssueTypes)
	}
	if b.Filter != nil {
		r.Filter = *b.Filter
	}
	if b.MissingDays != nil {
		r.MissingDays = int(*b.MissingDays)
	}
	if b.To != nil {
		r.To = *b.To
	}
	if b.Digest != nil {
		r.Digest, _ = model.ParseNotificationDigest(*b.Digest)
	}
	if b.Paused != nil {
		r.Paused = *b.Paused
	}
}

func deleteNotificationRule(ctx context.Context, c *core.Call, _ *core.None) (*api.NotificationRuleResponse, error) {
	r, err := notificationRule(ctx, c)
	if err == nil {
		err = c.Tx.DeleteNotificationRule(ctx, r.ID)
	}
	return &api.NotificationRuleResponse{Rule: notificationRuleOf(r)}, err
}

func rotateNotificationSecret(ctx context.Context, c *core.Call, _ *core.None) (*api.NotificationRuleResponse, error) {
	return changeRule(ctx, c, func(ctx context.Context, n *notify.Notifier) (model.NotificationRule, string, error) {
		r, err := notificationRule(ctx, c)
		if err != nil {
			return r, "", err
		}
		return n.Rotate(ctx, c.Tx, r.ID)
	})
}

// testNotificationRule sends a message outside of any transaction, and not for a repeated request.
func testNotificationRule(ctx context.Context, c *core.Call, _ *core.None) (*api.TestNotificationRuleResponse, error) {
	id, err := c.ID("notificationRuleId") // 0 would select messages without a rule
	if err != nil {
		return nil, err
	}
	return core.RunPrepared(ctx, c, func(ctx context.Context) ([]model.Notification, error) {
		n, err := notifier(c)
		if err != nil {
			return nil, err
		}
		return n.Test(ctx, c.Caller.Deployment.ID, c.Caller.Actor(), id)
	}, func(_ context.Context, sent []model.Notification) (*api.TestNotificationRuleResponse, error) {
		return &api.TestNotificationRuleResponse{Notifications: notificationsOf(sent)}, nil
	})
}

// defaultNotifications is the default number of notifications in a response.
const defaultNotifications = 100

// notificationPage is the query for a page of a rule's notifications.
type notificationPage struct {
	api.NotificationsQuery
	core.IDPosition
}

// Resolve decodes the cursor.
func (in *notificationPage) Resolve(ctx huma.Context) []error {
	return in.Find(ctx, "notifications "+ctx.Param("notificationRuleId"), nil, in.Cursor)
}

func listNotifications(
	ctx context.Context, c *core.Call, in *notificationPage,
) (*api.ListNotificationsResponse, error) {
	r, err := notificationRule(ctx, c)
	if err != nil {
		return nil, err
	}
	list, more, err := c.Tx.Notifications(ctx, store.NotificationQuery{
		RuleID: r.ID,
		Before: in.After,
		Limit:  cmp.Or(int(in.Limit), defaultNotifications),
	})
	if err != nil {
		return nil, err
	}
	out := &api.ListNotificationsResponse{Notifications: notificationsOf(list)}
	if more {
		out.Cursor, err = c.Server.Cursors().Encode(in.List, list[len(list)-1].ID)
	}
	return out, err
}

func resendNotification(ctx context.Context, c *core.Call, _ *core.None) (*api.NotificationResponse, error) {
	r, err := notificationRule(ctx, c)
	if err != nil {
		return nil, err
	}
	id := c.PathID("notificationId")
	n, err := c.Tx.ResendNotification(ctx, r.ID, id)
	return &api.NotificationResponse{Notification: notificationOf(n)}, err
}
