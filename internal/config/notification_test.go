package config

import (
	"errors"
	"strings"
	"testing"
)

func TestNotificationsCheck(t *testing.T) {
	works := Notifications{NotifyTo: []string{"public"}, SMTPHost: "mail.example.com", SMTPPort: 587, SMTPFrom: "redoubt@example.com", SMTPUser: "redoubt", SMTPTLS: "starttls"}
	for _, c := range []struct {
		change func(n *Notifications)
		want   string // empty: valid
	}{
		{func(*Notifications) {}, ""},
		{func(n *Notifications) { *n = Notifications{} }, ""},
		{func(n *Notifications) { n.NotifyTo = []string{"public", "10.0.0.0/8"} }, ""},
		{func(n *Notifications) { n.NotifyTo = []string{"nowhere"} }, "--notify-to"},
		{func(n *Notifications) { n.SMTPFrom = "" }, "require each other"},
		{func(n *Notifications) { n.SMTPHost = "" }, "require each other"},
		{func(n *Notifications) { n.SMTPFrom = "redoubt" }, "--smtp-from"},
		{func(n *Notifications) { n.SMTPTLS = "none" }, "--smtp-tls"},
		{func(n *Notifications) { n.SMTPPort = 65536 }, "--smtp-port"},
	} {
		n := works
		c.change(&n)
		err := errors.Join(n.checkNotifications()...)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", n, err, c.want)
		}
	}
}
