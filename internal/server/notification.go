package server

import (
	"cmp"
	"context"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/notify"
	"github.com/redoubt/redoubt/internal/store"
)

// notifier is what makes and tries rules.
func notifier(c *call) (*notify.Notifier, error) {
	if c.server.Notifier == nil {
		return nil, newProblem(api.CodeUnavailable, "This server tells nobody. Ask another one of the same database.", nil)
	}
	return c.server.Notifier, nil
}

func notificationRuleOf(r model.NotificationRule) api.NotificationRule {
	out := api.NotificationRule{
		ID: r.ID, Name: r.Name, Events: r.Events.Names(), MinSeverity: r.MinSeverity.String(),
		IssueTypes: r.Products.Names(), Filter: r.Filter, MissingDays: int64(r.MissingDays),
		Channel: r.Channel.String(), Host: r.Host, To: orEmpty(r.To),
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
		DueAt: api.Time{Time: n.DueAt}, EndedAt: timeOrNull(n.EndedAt),
	}
}

func notificationsOf(list []model.Notification) []api.Notification {
	return model.Map(list, notificationOf)
}

func listNotificationRules(ctx context.Context, c *call, _ *none) (*api.ListNotificationRulesResponse, error) {
	list, err := c.tx.NotificationRules(ctx)
	out := &api.ListNotificationRulesResponse{Rules: make([]api.NotificationRule, len(list))}
	for i, r := range list {
		out.Rules[i] = notificationRuleOf(r)
	}
	return out, err
}

// notificationRule finds the one that the path names.
func notificationRule(ctx context.Context, c *call) (model.NotificationRule, error) {
	id := c.pathID("notificationRuleId")
	return c.tx.NotificationRule(ctx, id)
}

func getNotificationRule(ctx context.Context, c *call, _ *none) (*api.NotificationRuleResponse, error) {
	r, err := notificationRule(ctx, c)
	return &api.NotificationRuleResponse{Rule: notificationRuleOf(r)}, err
}

func eventsOf(names []string) (events model.NotificationEvents) {
	for _, e := range parsed(names, model.ParseNotificationEvent) {
		events = events.With(e)
	}
	return events
}

func productsOf(names []string) (products model.Products) {
	for _, t := range parsed(names, model.ParseIssueType) {
		products = products.With(t)
	}
	return products
}

// telling changes rules. The secret that it tells is sealed in the answer that is kept
// under a key.
func telling(
	ctx context.Context, c *call, change func(ctx context.Context, n *notify.Notifier) (model.NotificationRule, string, error),
) (*api.NotificationRuleResponse, error) {
	n, err := notifier(c)
	if err != nil {
		return nil, err
	}
	deployment := c.caller.Deployment.ID
	out, err := runIdempotent(ctx, c, func(ctx context.Context) (*api.NotificationRuleResponse, error) {
		r, secret, err := change(ctx, n)
		return &api.NotificationRuleResponse{Rule: notificationRuleOf(r), Secret: n.Hide(deployment, secret)}, inBody(err)
	})
	if err == nil {
		out.Secret, err = n.Show(deployment, out.Secret)
	}
	return out, err
}

func createNotificationRule(
	ctx context.Context, c *call, in *request[api.CreateNotificationRuleRequest],
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
	return telling(ctx, c, func(ctx context.Context, n *notify.Notifier) (model.NotificationRule, string, error) {
		return n.Add(ctx, c.tx, r, strings.TrimSpace(b.URL))
	})
}

func updateNotificationRule(
	ctx context.Context, c *call, in *request[api.UpdateNotificationRuleRequest],
) (*api.NotificationRuleResponse, error) {
	return telling(ctx, c, func(ctx context.Context, n *notify.Notifier) (model.NotificationRule, string, error) {
		r, err := notificationRule(ctx, c)
		if err != nil {
			return r, "", err
		}
		changeNotificationRule(&r, in.Body)
		r, err = n.Change(ctx, c.tx, r, strings.TrimSpace(in.Body.URL))
		return r, "", err
	})
}

// changeNotificationRule takes over what a request holds.
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

func deleteNotificationRule(ctx context.Context, c *call, _ *none) (*api.NotificationRuleResponse, error) {
	r, err := notificationRule(ctx, c)
	if err == nil {
		err = c.tx.DeleteNotificationRule(ctx, r.ID)
	}
	return &api.NotificationRuleResponse{Rule: notificationRuleOf(r)}, err
}

func rotateNotificationSecret(ctx context.Context, c *call, _ *none) (*api.NotificationRuleResponse, error) {
	return telling(ctx, c, func(ctx context.Context, n *notify.Notifier) (model.NotificationRule, string, error) {
		r, err := notificationRule(ctx, c)
		if err != nil {
			return r, "", err
		}
		return n.Rotate(ctx, c.tx, r.ID)
	})
}

// testNotificationRule sends a message outside of any transaction, and not at all where
// the request came before.
func testNotificationRule(ctx context.Context, c *call, _ *none) (*api.TestNotificationRuleResponse, error) {
	id, err := c.id("notificationRuleId") // 0 names messages without a rule
	if err != nil {
		return nil, err
	}
	return runPrepared(ctx, c, func(ctx context.Context) ([]model.Notification, error) {
		n, err := notifier(c)
		if err != nil {
			return nil, err
		}
		return n.Test(ctx, c.caller.Deployment.ID, c.caller.Actor(), id)
	}, func(_ context.Context, sent []model.Notification) (*api.TestNotificationRuleResponse, error) {
		return &api.TestNotificationRuleResponse{Notifications: notificationsOf(sent)}, nil
	})
}

// defaultNotifications is how many an answer holds when 0 are asked for.
const defaultNotifications = 100

// notificationPage is a page of a rule's log that is asked for.
type notificationPage struct {
	api.NotificationsQuery
	idPosition
}

// Resolve finds the position in the list.
func (in *notificationPage) Resolve(ctx huma.Context) []error {
	return in.find(ctx, "notifications "+ctx.Param("notificationRuleId"), nil, in.Cursor)
}

func listNotifications(ctx context.Context, c *call, in *notificationPage) (*api.ListNotificationsResponse, error) {
	r, err := notificationRule(ctx, c)
	if err != nil {
		return nil, err
	}
	list, more, err := c.tx.Notifications(ctx, store.NotificationQuery{
		RuleID: r.ID,
		Before: in.after,
		Limit:  cmp.Or(int(in.Limit), defaultNotifications),
	})
	if err != nil {
		return nil, err
	}
	out := &api.ListNotificationsResponse{Notifications: notificationsOf(list)}
	if more {
		out.Cursor, err = c.server.cursors().encode(in.list, list[len(list)-1].ID)
	}
	return out, err
}

func resendNotification(ctx context.Context, c *call, _ *none) (*api.NotificationResponse, error) {
	r, err := notificationRule(ctx, c)
	if err != nil {
		return nil, err
	}
	id := c.pathID("notificationId")
	n, err := c.tx.ResendNotification(ctx, r.ID, id)
	return &api.NotificationResponse{Notification: notificationOf(n)}, err
}
