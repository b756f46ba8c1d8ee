package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/notify"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/web"
)

// listener is a receiver that accepts all notifications.
var listener = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))

// notifier returns the notifier of a site.
func notifier(t testing.TB, s *site) *notify.Notifier {
	t.Helper()
	sealer, err := hostRing.Sealer("notifications")
	if err != nil {
		t.Fatal(err)
	}
	return notify.New(notify.Config{
		Store: s.store, Filter: web.FindingFilter, Sealer: sealer, Clock: s.clock.Now, PublicURL: func() string { return "https://redoubt.example" }, Name: "redoubt/test",
		Reach: scm.Reach{NoPrivate: true, Also: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
	})
}

// webhook returns the body for a rule that notifies the listener.
func (s *site) webhook(name string) object {
	return object{"name": name, "events": []string{"new_finding"}, "channel": "webhook", "url": listener.URL + "/secret-path"}
}

// notificationCount counts the rules that sendTestNotification creates, for unique names.
var notificationCount atomic.Int64

// sendTestNotification creates a rule and sends a test notification. It returns both ids.
func (s *site) sendTestNotification(t testing.TB, name string) map[string]string {
	t.Helper()
	rule := post[api.NotificationRuleResponse](t, s, "notification-rules", s.webhook(fmt.Sprint(name, " ", notificationCount.Add(1)))).Rule
	sent := post[api.TestNotificationRuleResponse](t, s, fmt.Sprint("notification-rules/", rule.ID, "/test"), nil).Notifications[0]
	return map[string]string{"notificationRuleId": fmt.Sprint(rule.ID), "notificationId": fmt.Sprint(sent.ID)}
}

// notificationWrites adds the writes of notifications, by operation.
func notificationWrites(t testing.TB, w *world, writes map[string]keyedWrite) {
	t.Helper()
	ids := w.sendTestNotification(t, "keyed")
	at := "notification-rules/" + ids["notificationRuleId"]
	maps.Copy(writes, map[string]keyedWrite{
		"createNotificationRule":   {request{method: "POST", path: "notification-rules", body: w.webhook("once")}, w.webhook("twice")},
		"updateNotificationRule":   {request{method: "PATCH", path: at, body: object{"name": "another"}}, object{"name": "further"}},
		"testNotificationRule":     {request: request{method: "POST", path: at + "/test"}},
		"rotateNotificationSecret": {request: request{method: "POST", path: at + "/rotate"}},
		"resendNotification":       {request: request{method: "POST", path: at + "/notifications/" + ids["notificationId"] + "/resend"}},
		"deleteNotificationRule":   {request: request{method: "DELETE", path: at}},
	})
}

// TestNotificationRulesByAPI creates, changes, tests and deletes a rule. No response contains the
// address, and only those that create a secret contain it.
func TestNotificationRulesByAPI(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		for name, bad := range map[string]struct {
			with object
			at   string
		}{
			"no event":                   {object{"events": []string{}}, "body.events"},
			"unknown event":              {object{"events": []string{"payday"}}, "body.events[0]"},
			"channel":                    {object{"channel": "pigeon"}, "body.channel"},
			"no address":                 {object{"url": ""}, "body.url"},
			"another scheme":             {object{"url": "file:///etc/passwd"}, "body.url"},
			"a password":                 {object{"url": "https://a:b@hooks.example/"}, "body.url"},
			"inside":                     {object{"url": "http://10.0.0.1/"}, "body.url"},
			"filter":                     {object{"filter": "severities=terrible"}, "body.filter"},
			"a word unknown":             {object{"filter": "colour=red"}, "body.filter"},
			"a filter of the other type": {object{"filter": "exposures=reachable", "issue_types": []string{"sast"}}, "body.filter"},
			"no days":                    {object{"events": []string{"scan_missing"}}, "body.missing_days"},
			"mail of a hook":             {object{"to": []string{"alice@example.com"}}, "body.to"},
			"no mail":                    {object{"channel": "email", "url": "", "to": []string{"alice@example.com"}}, "body.channel"},
			"no such address":            {object{"channel": "email", "url": "", "to": []string{"Alice <alice@example.com>"}}, "body.to"},
			"member":                     {object{"secret": "x"}, "body.secret"},
		} {
			body := s.webhook("ours")
			maps.Copy(body, bad.with)
			t.Log(name)
			invalid(t, s.send(t, request{method: "POST", path: "notification-rules", body: body}), bad.at)
		}
		if list := get[api.ListNotificationRulesResponse](t, s, "notification-rules").Rules; len(list) != 0 {
			t.Fatalf("rejected ones are stored: %+v", list)
		}
		body := s.webhook("ours")
		maps.Copy(body, object{"filter": "branch=primary&severities=high", "issue_types": []string{"sast", "secrets"}, "min_severity": "medium"})
		made := post[api.NotificationRuleResponse](t, s, "notification-rules", body)
		if !strings.HasPrefix(made.Secret, "whsec_") || made.Rule.Host != strings.TrimPrefix(listener.URL, "http://") || made.Rule.MinSeverity != "medium" || len(made.Rule.IssueTypes) != 2 {
			t.Errorf("created %+v", made)
		}
		refused(t, s.send(t, request{method: "POST", path: "notification-rules", body: s.webhook("ours")}), 409, api.CodeConflict)
		at := fmt.Sprint("notification-rules/", made.Rule.ID)
		changed := read[api.NotificationRuleResponse](t, s.send(t, request{method: "PATCH", path: at, body: object{"paused": true, "min_severity": "", "url": listener.URL + "/secret-path/2"}}))
		if !changed.Rule.Paused || changed.Rule.MinSeverity != "" || changed.Rule.Name != "ours" || changed.Secret != "" {
			t.Errorf("changed %+v", changed)
		}
		rotated := post[api.NotificationRuleResponse](t, s, at+"/rotate", nil)
		if rotated.Secret == made.Secret || !strings.HasPrefix(rotated.Secret, "whsec_") {
			t.Errorf("rotated %+v", rotated)
		}
		for range 3 {
			post[api.TestNotificationRuleResponse](t, s, at+"/test", nil)
		}
		first := get[api.ListNotificationsResponse](t, s, at+"/notifications?limit=2")
		second := get[api.ListNotificationsResponse](t, s, at+"/notifications?limit=2&cursor="+first.Cursor)
		if len(first.Notifications) != 2 || len(second.Notifications) != 1 || second.Cursor != "" || !first.Notifications[0].Test || first.Notifications[0].Status != 204 || first.Notifications[0].ID < first.Notifications[1].ID {
			t.Errorf("%+v, then %+v", first, second)
		}
		resend := fmt.Sprint(at, "/notifications/", second.Notifications[0].ID, "/resend")
		refused(t, s.send(t, request{method: "POST", path: resend}), 409, api.CodeConflict) // its rule is paused
		read[api.NotificationRuleResponse](t, s.send(t, request{method: "PATCH", path: at, body: object{"paused": false}}))
		post[api.NotificationResponse](t, s, resend, nil)
		refused(t, s.send(t, request{method: "POST", path: resend}), 409, api.CodeConflict) // already queued
		everything := []any{get[api.ListNotificationRulesResponse](t, s, "notification-rules"), get[api.NotificationRuleResponse](t, s, at), first}
		if text, _ := json.Marshal(everything); strings.Contains(string(text), "secret-path") || strings.Contains(string(text), "whsec_") {
			t.Errorf("a response contains a secret: %s", text)
		}
		read[api.NotificationRuleResponse](t, s.send(t, request{method: "DELETE", path: at}))
		refused(t, s.send(t, request{method: "GET", path: at}), 404, api.CodeNotFound)
	})
}
