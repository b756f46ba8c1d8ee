package cli

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/cli/webapi"
	"github.com/redoubt/redoubt/internal/config"
)

// NotificationsCmd manages notification rules.
type NotificationsCmd struct {
	List   notificationsListCmd   `cmd:"" default:"withargs" help:"List notification rules."`
	Log    notificationsLogCmd    `cmd:"" help:"List the messages of a rule, newest first."`
	Test   notificationsTestCmd   `cmd:"" help:"Send a test message; fail unless all receivers accept it."`
	Pause  notificationsPauseCmd  `cmd:"" help:"Pause a rule; its pending messages fail."`
	Resume notificationsResumeCmd `cmd:"" help:"Resume a paused rule."`
}

type notificationsListCmd struct {
	webapi.Flags
}

// Run lists the rules.
func (c notificationsListCmd) Run(a *command.App) error {
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	list, err := client.ListNotificationRules(a.Ctx, deployment)
	if err != nil {
		return err
	}
	rows, items := [][]string{}, []any{}
	for _, r := range list.Rules {
		rows, items = append(rows, notificationRuleRow(r)), append(items, r)
	}
	return c.Print(a, notificationRuleHead, rows, items)
}

const notificationRuleHead = "ID STATE CHANNEL RECEIVER EVENTS NAME PROBLEM"

func notificationRuleRow(r api.NotificationRule) []string {
	state := "on"
	if r.Paused {
		state = "paused"
	}
	return []string{
		strconv.FormatInt(r.ID, 10), state, r.Channel, cmp.Or(r.Host, strings.Join(r.To, " "), "-"),
		strings.Join(r.Events, " "), r.Name, cmp.Or(r.Problem, "-"),
	}
}

// ofNotificationRule is a command about one rule.
type ofNotificationRule struct {
	Rule int64 `arg:"" help:"Id of the rule."`
}

type notificationsLogCmd struct {
	webapi.Flags
	ofNotificationRule
	Limit int `help:"Maximum number of messages." default:"100" placeholder:"N"`
}

// Run lists the messages of a rule.
func (c notificationsLogCmd) Run(a *command.App) error {
	if c.Limit < 1 {
		return errors.New("--limit must be 1 or more")
	}
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	var list []api.Notification
	for q := (api.NotificationsQuery{}); ; {
		q.Limit = int64(min(c.Limit-len(list), 200))
		page, err := client.ListNotifications(a.Ctx, deployment, c.Rule, q)
		if err != nil {
			return err
		}
		if list = append(list, page.Notifications...); page.Cursor == "" || len(list) >= c.Limit {
			return printNotifications(a, c.Flags, list)
		}
		q.Cursor = page.Cursor
	}
}

func printNotifications(a *command.App, w webapi.Flags, list []api.Notification) error {
	rows, items := [][]string{}, []any{}
	for _, n := range list {
		outcome := strings.TrimSpace(n.Problem + " " + n.Answer)
		rows = append(rows, []string{
			strconv.FormatInt(n.ID, 10), n.CreatedAt.UTC().Format(time.RFC3339), n.State,
			strconv.FormatInt(n.Attempts, 10), strconv.FormatInt(n.Status, 10), cmp.Or(n.To, "-"), n.Title, cmp.Or(outcome, "-"),
		})
		items = append(items, n)
	}
	return w.Print(a, "ID AT STATE ATTEMPTS STATUS TO MESSAGE OUTCOME", rows, items)
}

type notificationsTestCmd struct {
	webapi.Flags
	config.Notifications
	ofNotificationRule
}

// Run sends a test message. It fails unless each receiver accepts it.
func (c notificationsTestCmd) Run(a *command.App) error {
	client, deployment, err := c.ConnectWith(a, command.Senders{Notify: c.Notifications})
	if err != nil {
		return err
	}
	sent, err := client.TestNotificationRule(a.Ctx, deployment, c.Rule)
	if err != nil {
		return err
	}
	failed := 0
	for _, n := range sent.Notifications {
		if n.State != "delivered" {
			failed++
		}
	}
	if err := printNotifications(a, c.Flags, sent.Notifications); err != nil || failed == 0 {
		return err
	}
	return fmt.Errorf("%d of %d receivers did not accept the message", failed, len(sent.Notifications))
}

type notificationsPauseCmd struct {
	webapi.Flags
	ofNotificationRule
}

// Run pauses a rule.
func (c notificationsPauseCmd) Run(a *command.App) error { return pauseRule(a, c.Flags, c.Rule, true) }

type notificationsResumeCmd struct {
	webapi.Flags
	ofNotificationRule
}

// Run resumes a rule.
func (c notificationsResumeCmd) Run(a *command.App) error {
	return pauseRule(a, c.Flags, c.Rule, false)
}

func pauseRule(a *command.App, w webapi.Flags, rule int64, paused bool) error {
	client, deployment, err := w.Connect(a)
	if err != nil {
		return err
	}
	changed, err := client.UpdateNotificationRule(
		a.Ctx, deployment, rule, api.UpdateNotificationRuleRequest{Paused: &paused},
	)
	if err != nil {
		return err
	}
	return w.Print(a, notificationRuleHead, [][]string{notificationRuleRow(changed.Rule)}, []any{changed.Rule})
}
