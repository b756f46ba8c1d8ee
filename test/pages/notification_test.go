package pages

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/redoubt/redoubt/internal/keyring"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/notify"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
	"github.com/redoubt/redoubt/internal/web"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// ring contains the keys of the sites of the tests.
var ring = keyring.New(storetest.Epoch)

// newNotifier returns a notifier with receivers on this machine.
func newNotifier(t testing.TB, s *store.Store, now func() time.Time) *notify.Notifier {
	t.Helper()
	sealer, err := ring.Sealer("notifications")
	if err != nil {
		t.Fatal(err)
	}
	return notify.New(notify.Config{
		Store: s, Filter: web.FindingFilter, Sealer: sealer, Clock: now, PublicURL: func() string { return "https://redoubt.example" }, Name: "redoubt/test",
		Reach: scm.Reach{NoPrivate: true, Also: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Flag: "--notify-to"},
	})
}

// notificationRule returns a notification rule with a sent message, and creates it if necessary.
func (s *site) notificationRule() (rule model.NotificationRule) {
	s.t.Helper()
	s.change(func(ctx context.Context, tx *store.Tx) error {
		list, err := tx.NotificationRules(ctx)
		if err != nil || len(list) > 0 {
			if len(list) > 0 {
				rule = list[0]
			}
			return err
		}
		rule, err = tx.AddNotificationRule(ctx, model.NotificationRule{
			Name: "on call", Events: model.NotificationEvents(0).With(model.EventNewFinding).With(model.EventScanMissing), MissingDays: 3, Filter: "branch=primary",
			MinSeverity: model.SeverityHigh, Channel: model.ChannelWebhook, Host: "hooks.example.com",
		}, func(int64) ([]byte, error) { return []byte("sealed"), nil })
		for i, state := range []model.NotificationState{model.NotificationDelivered, model.NotificationFailed} {
			if err == nil {
				_, err = tx.AddEndedNotification(ctx, model.Notification{
					RuleID: rule.ID, Receiver: model.NotificationReceiver{RuleID: rule.ID}, Key: fmt.Sprint("told-", i), State: state, Status: 200 + 300*i, Answer: "thank you",
					Message: model.NotificationMessage{Event: model.EventNewFinding, Title: "2 new findings (1 critical, 1 high) in acme/payments"},
					Problem: []string{"", "The receiver returned 500."}[i],
				})
			}
		}
		return err
	})
	return rule
}

// hook starts a webhook receiver with a secret path that responds with a status.
func hook(t *testing.T, status *int) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(*status)
		_, _ = w.Write([]byte("<b>said</b>"))
	}))
	t.Cleanup(server.Close)
	return server.URL + "/very-secret-path"
}

// pageWithSecret opens the page that a response redirects to, with the secret of the response's
// cookie.
func (s *site) pageWithSecret(a answer) string {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), http.MethodGet, a.Header.Get("Location"), nil)
	r.AddCookie(secretCookie(s.t, a))
	return html.UnescapeString(s.send(r).text)
}

var secretShown = regexp.MustCompile(`whsec_[A-Za-z0-9+/=]+`)

// TestNotificationRuleLifecycle checks that errors of the Web API are shown with the
// input. No page shows an address, and a secret is shown once.
func TestNotificationRuleLifecycle(t *testing.T) {
	s := newSite(t)
	s.as(model.RoleAdmin)
	shows(t, s.page(ui.NotificationsPath), "[data-say=no-rules]")
	containsAll(t, s.page(ui.NotificationsPath+"/new?filter=severities%3Dhigh&issue_types=sca"), `value="severities=high"`, `value="sca" checked`)
	status := http.StatusNoContent
	form := url.Values{
		"name": {`on <call>`}, "events": {"new_finding", "scan_missing"}, "missing_days": {"3"}, "min_severity": {"high"}, "issue_types": {"sast", "sca"}, "filter": {"colour=red"},
		"channel": {"webhook"}, "url": {hook(t, &status)}, "to": {"left@over.example"}, "digest": {"day"},
	}
	a := s.post(ui.NotificationsPath, form)
	containsAll(t, textAt(t, a.text, "main [role=alert]"), "colour")
	containsAll(t, a.text, `value="on &lt;call&gt;"`, `value="colour=red"`, `value="scan_missing" checked`, `value="high" selected`, `value="sca" checked`, "very-secret-path")
	if a.StatusCode != http.StatusBadRequest || a.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%s, %q", a.Status, a.Header.Get("Cache-Control"))
	}
	form.Set("filter", "branch=primary")
	a = s.post(ui.NotificationsPath, form)
	at, _, _ := strings.Cut(strings.TrimPrefix(a.Header.Get("Location"), "/orgs/acme"), "?")
	page := s.pageWithSecret(a)
	first := secretShown.FindString(page)
	if first == "" {
		t.Fatalf("the secret is not shown: %s", page)
	}
	containsAll(t, page, "on <call>", "127.0.0.1")
	shows(t, page, "[data-say=no-deliveries]")
	reloaded := s.page(strings.TrimPrefix(a.Header.Get("Location"), "/orgs/acme"))
	shows(t, reloaded, "[data-say=shown-once]")
	lacks(t, reloaded, "whsec_", "very-secret-path")
	if a := s.post(ui.NotificationsPath, form); a.StatusCode != http.StatusBadRequest || !strings.Contains(textAt(t, a.text, "main [role=alert]"), "on <call>") {
		t.Errorf("of the same name: %s", a.Status)
	}

	page = s.follow(at+"/test", nil)
	containsAll(t, textAt(t, page, "[data-say=tested].good"), "204")
	shows(t, page, "tr [data-state=delivered]", "tr[data-event=test]")
	status = http.StatusInternalServerError
	page = s.follow(at+"/test", nil)
	containsAll(t, textAt(t, page, "[data-say=tested].bad"), "500", "<b>said</b>")
	shows(t, page, "tr [data-state=failed]")
	lacks(t, page, "<b>said")
	list := s.page(ui.NotificationsPath)
	shows(t, list, "[data-state=failed]", "[data-products='sast sca '][data-severity=high]", "[data-channel=webhook]")
	containsAll(t, textAt(t, list, "[data-events~=scan_missing]"), "3")
	containsAll(t, list, "branch=primary", "127.0.0.1")
	lacks(t, list, "very-secret-path")

	message := regexp.MustCompile(`/notifications/(\d+)/resend`).FindStringSubmatch(page)[1]
	shows(t, s.follow(at+"/notifications/"+message+"/resend", nil), "[data-say=notification-resent]", "tr [data-state=queued]")
	if a := s.post(at+"/notifications/"+message+"/resend", nil); a.StatusCode != http.StatusBadRequest || document(t, a.text).Find("main [role=alert]").Length() == 0 {
		t.Errorf("resent while it waits: %s", a.Status)
	}
	shows(t, s.follow(at+"/pause", url.Values{"paused": {"on"}}), "[data-say=notification-paused]", "h1 [data-paused]", "button[name=paused][value=off]")
	shows(t, s.page(ui.NotificationsPath), "[data-paused]")
	shows(t, s.follow(at+"/pause", url.Values{"paused": {"off"}}), "[data-say=notification-resumed]", "button[name=paused][value=on]")

	if second := secretShown.FindString(s.pageWithSecret(s.post(at+"/rotate", nil))); second == "" || second == first {
		t.Errorf("the secret after it was rotated: %q", second)
	}
	change := url.Values{"name": {"night shift"}, "events": {"assigned"}, "channel": {"slack"}, "url": {""}}
	page = s.follow(at, change)
	shows(t, page, "[data-say=notification-saved]")
	containsAll(t, textAt(t, page, "[data-channel=webhook]"), "127.0.0.1")
	containsAll(t, page, "night shift")
	change.Set("url", "ftp://files.example")
	change.Set("name", "kept name")
	refused := s.post(at, change).text
	containsAll(t, textAt(t, refused, "main [role=alert]"), "https://", "http://")
	containsAll(t, refused, `value="kept name"`, `value="ftp://files.example"`, "<h1 class=\"long\">night shift")
	shows(t, s.follow(at+"/delete", nil), "[data-say=notification-deleted]", "[data-say=no-rules]")
	if a := s.get(at); a.StatusCode != http.StatusNotFound {
		t.Errorf("a deleted rule: %s", a.Status)
	}
}

// TestInvalidNotificationRules checks that the form shows the errors about invalid options
// and other invalid input.
func TestInvalidNotificationRules(t *testing.T) {
	s := newSite(t)
	s.as(model.RoleAdmin)
	for _, c := range []struct{ field, value, about, want string }{
		{"events", "", "events", ""},
		{"events", "everything", "events", "everything"},
		{"issue_types", "dast", "issue types", "dast"},
		{"min_severity", "awful", "min severity", "awful"},
		{"missing_days", "many", "missing days", ""},
		{"missing_days", "0", "missing days", "365"},
		{"channel", "pigeon", "channel", ""},
		{"channel", "email", "to", "50"},
		{"url", "", "url", ""},
		{"url", "http://10.0.0.1/", "url", "10.0.0.1"},
		{"name", " ", "name", ""},
		{"filter", "advisory=CVE-2021-23337", "filter", "advisory"},
	} {
		form := url.Values{"name": {"r"}, "events": {"scan_missing"}, "missing_days": {"3"}, "channel": {"slack"}, "url": {"https://hooks.example.com/x"}}
		form.Set(c.field, c.value)
		a := s.post(ui.NotificationsPath, form)
		if a.StatusCode != http.StatusBadRequest {
			t.Errorf("%s=%q: %s", c.field, c.value, a.Status)
		}
		fault := textAt(t, a.text, "main [role=alert]")
		if about, message, _ := strings.Cut(fault, ": "); about != c.about || !strings.Contains(message, c.want) {
			t.Errorf("%s=%q: %q", c.field, c.value, fault)
		}
	}
	shows(t, s.page(ui.NotificationsPath), "[data-say=no-rules]")
}

// TestNotificationRuleLog checks the pages of a rule's log, and that the list shows the
// newest message of each rule.
func TestNotificationRuleLog(t *testing.T) {
	s := newSite(t)
	s.as(model.RoleAdmin)
	rule := s.notificationRule()
	s.change(func(ctx context.Context, tx *store.Tx) error {
		for i := range 50 {
			_, err := tx.AddEndedNotification(ctx, model.Notification{
				RuleID: rule.ID, Receiver: model.NotificationReceiver{RuleID: rule.ID}, Key: fmt.Sprint("more-", i), State: model.NotificationDelivered, Status: 204,
				Message: model.NotificationMessage{Event: model.EventAssigned, Title: "assigned " + ui.Decimal(int64(i))},
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	at := ui.NotificationsPath + "/" + ui.Decimal(rule.ID)
	page := s.page(at)
	containsAll(t, page, "assigned 49", "assigned 0<")
	hides(t, page, "tr [data-state=failed]", latestLink)
	link, _ := document(t, page).Find(".pager a[rel=next]").Attr("href")
	older := s.page(strings.TrimPrefix(link, "/orgs/acme"))
	shows(t, older, "tr [data-state=failed]", latestLink)
	containsAll(t, older, "2 new findings (1 critical, 1 high) in acme/payments")
	list := s.page(ui.NotificationsPath)
	shows(t, list, "[data-state=delivered]")
	hides(t, list, "[data-state=failed]")
	if a := s.get(at + "?before=x"); a.StatusCode != http.StatusBadRequest {
		t.Errorf("a log before x: %s", a.Status)
	}
}

// TestNotificationPagesOnNarrowScreen checks that no page of rules is wider than the screen of a
// phone.
func TestNotificationPagesOnNarrowScreen(t *testing.T) {
	s := newSite(t)
	s.as(model.RoleAdmin)
	at := ui.NotificationsPath + "/" + ui.Decimal(s.notificationRule().ID)
	b := s.browse(390, 844)
	b.do(chromedp.EmulateViewport(390, 844))
	for _, path := range []string{ui.NotificationsPath, ui.NotificationsPath + "/new", at} {
		b.open(path)
		b.checkWidth(path, 390)
	}
}
