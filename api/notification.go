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
	Name        string   `json:"name" doc:"What people call it." example:"on call"`
	Events      []string `json:"events" doc:"What is told: new_finding, build_blocked, advisory, scan_failed, scan_missing, decision_ended, assigned." example:"[\"new_finding\"]"`
	MinSeverity string   `json:"min_severity" doc:"Findings below it are left out; empty leaves out none." example:"high"`
	IssueTypes  []string `json:"issue_types" doc:"Issue types that it is about; empty is all." example:"[\"sast\"]"`
	Filter      string   `json:"filter" doc:"Query of a findings page that findings must match; empty is all that is open." example:"branch=primary"`
	MissingDays int64    `json:"missing_days" doc:"After how many days without a scan scan_missing is told; 0 otherwise." example:"0"`
	Channel     string   `json:"channel" enum:"webhook,slack,teams,mattermost,discord,email" doc:"How people are told."`
	Host        string   `json:"host" doc:"Host of the receiver's address; empty of email." example:"hooks.example.com"`
	To          []string `json:"to" doc:"Addresses of mail, of the channel email." example:"[\"alice@example.com\"]"`
	Digest      string   `json:"digest" enum:"none,day,week" doc:"How mail comes: at once, or as a digest by day or week: one mail a person, and another for every 500 messages."`
	Paused      bool     `json:"paused" doc:"Whether nobody is told at present."`
	Problem     string   `json:"problem" doc:"What went wrong last; empty: it works, or was not tried." example:""`
	CreatedAt   Time     `json:"created_at" doc:"When it was made."`
}

// ListNotificationRulesResponse contains all rules.
type ListNotificationRulesResponse struct {
	Rules []NotificationRule `json:"rules" doc:"Rules, by id."`
}

// NotificationRuleResponse contains one rule.
type NotificationRuleResponse struct {
	Rule   NotificationRule `json:"rule" doc:"The rule as it is now, or was."`
	Secret string           `json:"secret,omitempty" doc:"Secret that its webhook is signed with, told this once, when it was made or replaced." example:"whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="`
}

// CreateNotificationRuleRequest creates a rule.
type CreateNotificationRuleRequest struct {
	_           struct{} `additionalProperties:"false"`
	Name        string   `json:"name" minLength:"1" maxLength:"100" doc:"What people are to call it." example:"on call"`
	Events      []string `json:"events" minItems:"1" maxItems:"20" enum:"new_finding,build_blocked,advisory,scan_failed,scan_missing,decision_ended,assigned,exception_asked,exception_decided,overdue,comment" doc:"What is to be told."`
	MinSeverity string   `json:"min_severity,omitempty" enum:"low,medium,high,critical" doc:"Leave out findings below it."`
	IssueTypes  []string `json:"issue_types,omitempty" maxItems:"3" enum:"sast,sca,secrets" doc:"Only findings of these issue types; all without it."`
	Filter      string   `json:"filter,omitempty" maxLength:"2000" doc:"Query of a findings page that findings must match: what stands behind its ?." example:"branch=primary"`
	MissingDays int64    `json:"missing_days,omitempty" minimum:"0" maximum:"365" doc:"After how many days without a scan scan_missing is told."`
	Channel     string   `json:"channel" enum:"webhook,slack,teams,mattermost,discord,email" doc:"How people are told."`
	URL         string   `json:"url,omitempty" maxLength:"2000" doc:"Address of the receiver, of all channels but email." example:"https://hooks.example.com/redoubt"`
	To          []string `json:"to,omitempty" maxItems:"50" doc:"Addresses of mail, of the channel email."`
	Digest      string   `json:"digest,omitempty" enum:"none,day,week" doc:"How mail comes: at once (the default), or as a digest by day or week: one mail a person, and another for every 500 messages."`
	Paused      bool     `json:"paused,omitempty" doc:"Whether nobody is told for now."`
}

// UpdateNotificationRuleRequest changes a rule. Absent members are left unchanged. The channel
// cannot be changed.
type UpdateNotificationRuleRequest struct {
	_           struct{}  `additionalProperties:"false"`
	Name        *string   `json:"name,omitempty" minLength:"1" maxLength:"100" doc:"What people are to call it." example:"on call"`
	Events      *[]string `json:"events,omitempty" minItems:"1" maxItems:"20" enum:"new_finding,build_blocked,advisory,scan_failed,scan_missing,decision_ended,assigned,exception_asked,exception_decided,overdue,comment" doc:"What is to be told."`
	MinSeverity *string   `json:"min_severity,omitempty" enum:",low,medium,high,critical" doc:"Leave out findings below it; empty leaves out none."`
	IssueTypes  *[]string `json:"issue_types,omitempty" maxItems:"3" enum:"sast,sca,secrets" doc:"Only findings of these issue types; none is all."`
	Filter      *string   `json:"filter,omitempty" maxLength:"2000" doc:"Query of a findings page that findings must match." example:"branch=primary"`
	MissingDays *int64    `json:"missing_days,omitempty" minimum:"0" maximum:"365" doc:"After how many days without a scan scan_missing is told."`
	URL         string    `json:"url,omitempty" maxLength:"2000" doc:"Another address of the receiver. The secret stays."`
	To          *[]string `json:"to,omitempty" maxItems:"50" doc:"Addresses of mail."`
	Digest      *string   `json:"digest,omitempty" enum:"none,day,week" doc:"How mail comes."`
	Paused      *bool     `json:"paused,omitempty" doc:"Whether nobody is told for now."`
}

// Notification is a message to one receiver, with its delivery state.
type Notification struct {
	ID        int64  `json:"id" doc:"Id of the notification." example:"9"`
	Event     string `json:"event" doc:"What it tells." example:"new_finding"`
	Title     string `json:"title" doc:"What it says first." example:"2 new findings (1 critical, 1 high) in acme/payments"`
	To        string `json:"to" doc:"Address of mail that it goes to; empty of other channels." example:""`
	State     string `json:"state" enum:"queued,delivered,failed" doc:"How far it came."`
	Attempts  int64  `json:"attempts" doc:"How often it was tried." example:"1"`
	Status    int64  `json:"status" doc:"Status of the receiver's last answer; 0: there was none." example:"204"`
	Answer    string `json:"answer" doc:"The beginning of that answer." example:""`
	Problem   string `json:"problem" doc:"Why the last attempt failed; empty: it did not." example:""`
	Test      bool   `json:"test" doc:"Whether it was sent to try the rule."`
	CreatedAt Time   `json:"created_at" doc:"When it was queued."`
	DueAt     Time   `json:"due_at" doc:"From when on it is tried."`
	EndedAt   *Time  `json:"ended_at" nullable:"true" doc:"When it was delivered or given up; null is not yet."`
}

// NotificationsQuery contains the parameters for listing the notifications of a rule.
type NotificationsQuery struct {
	Cursor string `query:"cursor" doc:"Cursor of the previous answer."`
	Limit  int64  `query:"limit" minimum:"0" maximum:"500" default:"100" doc:"Notifications in one answer; 0 takes the default."`
}

// ListNotificationsResponse is one page of the notifications of a rule.
type ListNotificationsResponse struct {
	Notifications []Notification `json:"notifications" doc:"Notifications, the newest first; the last thousand of a rule are kept."`
	Cursor        string         `json:"cursor,omitempty" doc:"Pass it to get the next page; absent on the last one."`
}

// TestNotificationRuleResponse contains the messages of a test.
type TestNotificationRuleResponse struct {
	Notifications []Notification `json:"notifications" doc:"The messages that were sent, one for each receiver."`
}

// NotificationResponse contains one notification.
type NotificationResponse struct {
	Notification Notification `json:"notification" doc:"The notification as it is now."`
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
