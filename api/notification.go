package api

import (
	"context"
	"net/http"
	"strconv"
)

// NotificationRule defines which events are sent, to which receiver and over which channel. The
// receiver's address and the signing secret are not included.
type NotificationRule struct {
	ID          int64    `json:"id" doc:"Id of the rule." example:"3"`
	Name        string   `json:"name" doc:"Display name." example:"on call"`
	Events      []string `json:"events" doc:"Events: new_finding, build_blocked, advisory, scan_failed, scan_missing, decision_ended, assigned, exception_asked, exception_decided, overdue, comment." example:"[\"new_finding\"]"`
	MinSeverity string   `json:"min_severity" doc:"Lowest severity of findings; empty: all." example:"high"`
	IssueTypes  []string `json:"issue_types" doc:"Issue types of findings; empty: all." example:"[\"sast\"]"`
	Filter      string   `json:"filter" doc:"Query of a findings page that findings must match; empty: all open findings." example:"branch=primary"`
	MissingDays int64    `json:"missing_days" doc:"Days without a scan before scan_missing is sent; 0 otherwise." example:"0"`
	Channel     string   `json:"channel" enum:"webhook,slack,teams,mattermost,discord,email" doc:"Channel of the messages."`
	Host        string   `json:"host" doc:"Host of the receiver's URL; empty for email." example:"hooks.example.com"`
	To          []string `json:"to" doc:"E-mail addresses, for the channel email." example:"[\"alice@example.com\"]"`
	Digest      string   `json:"digest" enum:"none,day,week" doc:"Delivery of e-mail: at once, or as a daily or weekly digest: one message per person and per 500 notifications."`
	Paused      bool     `json:"paused" doc:"Whether the rule is paused."`
	Problem     string   `json:"problem" doc:"Last error; empty: no error, or not used yet." example:""`
	CreatedAt   Time     `json:"created_at" doc:"Creation time."`
}

// ListNotificationRulesResponse contains all rules.
type ListNotificationRulesResponse struct {
	Rules []NotificationRule `json:"rules" doc:"Rules, by id."`
}

// NotificationRuleResponse contains one rule.
type NotificationRuleResponse struct {
	Rule   NotificationRule `json:"rule" doc:"The rule, after a change or before its deletion."`
	Secret string           `json:"secret,omitempty" doc:"Signing secret of the webhook. Returned only when it is created or replaced." example:"whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="`
}

// CreateNotificationRuleRequest creates a rule.
type CreateNotificationRuleRequest struct {
	_           struct{} `additionalProperties:"false"`
	Name        string   `json:"name" minLength:"1" maxLength:"100" doc:"Display name." example:"on call"`
	Events      []string `json:"events" minItems:"1" maxItems:"20" enum:"new_finding,build_blocked,advisory,scan_failed,scan_missing,decision_ended,assigned,exception_asked,exception_decided,overdue,comment" doc:"Events to send."`
	MinSeverity string   `json:"min_severity,omitempty" enum:"low,medium,high,critical" doc:"Lowest severity of findings."`
	IssueTypes  []string `json:"issue_types,omitempty" maxItems:"3" enum:"sast,sca,secrets" doc:"Only findings of these issue types; default: all."`
	Filter      string   `json:"filter,omitempty" maxLength:"2000" doc:"Query of a findings page that findings must match: the part after ?." example:"branch=primary"`
	MissingDays int64    `json:"missing_days,omitempty" minimum:"0" maximum:"365" doc:"Days without a scan before scan_missing is sent."`
	Channel     string   `json:"channel" enum:"webhook,slack,teams,mattermost,discord,email" doc:"Channel of the messages."`
	URL         string   `json:"url,omitempty" maxLength:"2000" doc:"URL of the receiver, for all channels except email." example:"https://hooks.example.com/redoubt"`
	To          []string `json:"to,omitempty" maxItems:"50" doc:"E-mail addresses, for the channel email."`
	Digest      string   `json:"digest,omitempty" enum:"none,day,week" doc:"Delivery of e-mail: at once (the default), or as a daily or weekly digest: one message per person and per 500 notifications."`
	Paused      bool     `json:"paused,omitempty" doc:"Whether to pause the rule."`
}

// UpdateNotificationRuleRequest changes a rule. Absent members are left unchanged. The channel
// cannot be changed.
type UpdateNotificationRuleRequest struct {
	_           struct{}  `additionalProperties:"false"`
	Name        *string   `json:"name,omitempty" minLength:"1" maxLength:"100" doc:"Display name." example:"on call"`
	Events      *[]string `json:"events,omitempty" minItems:"1" maxItems:"20" enum:"new_finding,build_blocked,advisory,scan_failed,scan_missing,decision_ended,assigned,exception_asked,exception_decided,overdue,comment" doc:"Events to send."`
	MinSeverity *string   `json:"min_severity,omitempty" enum:",low,medium,high,critical" doc:"Lowest severity of findings; empty: all."`
	IssueTypes  *[]string `json:"issue_types,omitempty" maxItems:"3" enum:"sast,sca,secrets" doc:"Only findings of these issue types; empty: all."`
	Filter      *string   `json:"filter,omitempty" maxLength:"2000" doc:"Query of a findings page that findings must match." example:"branch=primary"`
	MissingDays *int64    `json:"missing_days,omitempty" minimum:"0" maximum:"365" doc:"Days without a scan before scan_missing is sent."`
	URL         string    `json:"url,omitempty" maxLength:"2000" doc:"New URL of the receiver. The secret remains."`
	To          *[]string `json:"to,omitempty" maxItems:"50" doc:"E-mail addresses."`
	Digest      *string   `json:"digest,omitempty" enum:"none,day,week" doc:"Delivery of e-mail."`
	Paused      *bool     `json:"paused,omitempty" doc:"Whether to pause the rule."`
}

// Notification is a message to one receiver, with its delivery state.
type Notification struct {
	ID        int64  `json:"id" doc:"Id of the notification." example:"9"`
	Event     string `json:"event" doc:"Event of the message." example:"new_finding"`
	Title     string `json:"title" doc:"Title of the message." example:"2 new findings (1 critical, 1 high) in acme/payments"`
	To        string `json:"to" doc:"E-mail address of the recipient; empty for other channels." example:""`
	State     string `json:"state" enum:"queued,delivered,failed" doc:"Current state."`
	Attempts  int64  `json:"attempts" doc:"Number of attempts." example:"1"`
	Status    int64  `json:"status" doc:"Status of the receiver's last response; 0: no response." example:"204"`
	Answer    string `json:"answer" doc:"Start of the receiver's last response." example:""`
	Problem   string `json:"problem" doc:"Error of the last attempt; empty: no error." example:""`
	Test      bool   `json:"test" doc:"Whether it is a test message."`
	CreatedAt Time   `json:"created_at" doc:"Time of queuing."`
	DueAt     Time   `json:"due_at" doc:"Time of the next attempt."`
	EndedAt   *Time  `json:"ended_at" nullable:"true" doc:"Time of delivery or final failure; null: not yet."`
}

// NotificationsQuery contains the parameters for listing the notifications of a rule.
type NotificationsQuery struct {
	Cursor string `query:"cursor" doc:"Cursor of the previous response."`
	Limit  int64  `query:"limit" minimum:"0" maximum:"500" default:"100" doc:"Notifications per page; 0 means the default."`
}

// ListNotificationsResponse is one page of the notifications of a rule.
type ListNotificationsResponse struct {
	Notifications []Notification `json:"notifications" doc:"Notifications, newest first; the last thousand of a rule are stored."`
	Cursor        string         `json:"cursor,omitempty" doc:"Cursor of the next page; absent on the last page."`
}

// TestNotificationRuleResponse contains the messages of a test.
type TestNotificationRuleResponse struct {
	Notifications []Notification `json:"notifications" doc:"Sent messages, one for each receiver."`
}

// NotificationResponse contains one notification.
type NotificationResponse struct {
	Notification Notification `json:"notification" doc:"The notification after the change."`
}

const notificationRules = "notification-rules"

// ListNotificationRules returns all notification rules.
func (c *Client) ListNotificationRules(ctx context.Context, deployment string) (*ListNotificationRulesResponse, error) {
	return answer[ListNotificationRulesResponse](
		ctx, c, call{method: http.MethodGet, path: path(deployment, notificationRules)},
	)
}

// CreateNotificationRule creates a rule. Only this response contains the secret of a webhook.
func (c *Client) CreateNotificationRule(
	ctx context.Context, deployment string, r CreateNotificationRuleRequest, options ...Option,
) (*NotificationRuleResponse, error) {
	return answer[NotificationRuleResponse](ctx, c, call{
		method: http.MethodPost,
		path:   path(deployment, notificationRules),
		body:   r,
	}, options...)
}

// GetNotificationRule returns one rule.
func (c *Client) GetNotificationRule(
	ctx context.Context, deployment string, id int64,
) (*NotificationRuleResponse, error) {
	return answer[NotificationRuleResponse](
		ctx, c, call{method: http.MethodGet, path: pathOf(deployment, notificationRules, id)},
	)
}

// UpdateNotificationRule changes a rule.
func (c *Client) UpdateNotificationRule(
	ctx context.Context, deployment string, id int64, r UpdateNotificationRuleRequest, options ...Option,
) (*NotificationRuleResponse, error) {
	return answer[NotificationRuleResponse](ctx, c, call{
		method: http.MethodPatch,
		path:   pathOf(deployment, notificationRules, id),
		body:   r,
	}, options...)
}

// DeleteNotificationRule deletes a rule and its log.
func (c *Client) DeleteNotificationRule(
	ctx context.Context, deployment string, id int64, options ...Option,
) (*NotificationRuleResponse, error) {
	return answer[NotificationRuleResponse](ctx, c, call{
		method: http.MethodDelete,
		path:   pathOf(deployment, notificationRules, id),
	}, options...)
}

// TestNotificationRule sends a test message to the receivers of a rule.
func (c *Client) TestNotificationRule(
	ctx context.Context, deployment string, id int64, options ...Option,
) (*TestNotificationRuleResponse, error) {
	return answer[TestNotificationRuleResponse](ctx, c, call{
		method: http.MethodPost,
		path:   pathOf(deployment, notificationRules, id, "test"),
	}, options...)
}

// RotateNotificationSecret replaces the secret of a webhook. The previous secret signs for another
// day.
func (c *Client) RotateNotificationSecret(
	ctx context.Context, deployment string, id int64, options ...Option,
) (*NotificationRuleResponse, error) {
	return answer[NotificationRuleResponse](ctx, c, call{
		method: http.MethodPost,
		path:   pathOf(deployment, notificationRules, id, "rotate"),
	}, options...)
}

// ListNotifications returns a page of the notifications of a rule.
func (c *Client) ListNotifications(
	ctx context.Context, deployment string, id int64, q NotificationsQuery,
) (*ListNotificationsResponse, error) {
	return answer[ListNotificationsResponse](ctx, c, call{
		method: http.MethodGet,
		path:   pathOf(deployment, notificationRules, id, "notifications"),
		query:  values(q),
	})
}

// ResendNotification queues a notification again.
func (c *Client) ResendNotification(
	ctx context.Context, deployment string, rule, id int64, options ...Option,
) (*NotificationResponse, error) {
	at := pathOf(deployment, notificationRules, rule, "notifications", strconv.FormatInt(id, 10), "resend")
	return answer[NotificationResponse](ctx, c, call{method: http.MethodPost, path: at}, options...)
}
