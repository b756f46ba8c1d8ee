package notify_test

import (
	"context"
	"io"
	"mime/quotedprintable"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
	"github.com/redoubt/redoubt/internal/triage"
)

// comments adds a comment of a user to a finding.
func (w *world) comments(author model.User, l model.Lineage, text string) (c model.FindingComment) {
	w.Helper()
	err := w.s.Update(w.Context(), w.d.ID, author.Actor(), func(ctx context.Context, tx *store.Tx) (err error) {
		c, err = triage.Comment(ctx, tx, model.Finding{LineageID: l.ID}, text, author.ID)
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
	return c
}

func (w *world) user(u model.User, role model.Role) (made model.User) {
	w.Helper()
	w.update(func(ctx context.Context, tx *store.Tx) (err error) {
		made, err = tx.CreateUser(ctx, u, role)
		return err
	})
	return made
}

// TestMentionedUsersAreNotified checks that mentioned users get one mail for each comment, and other
// users get none.
func TestMentionedUsersAreNotified(t *testing.T) {
	each(t, func(w *world) {
		p := w.post()
		finding := w.found(added{n: 1, severity: model.SeverityHigh})[0]
		ana := w.user(model.User{Name: "ana@example.com"}, model.RoleViewer)
		w.user(model.User{Name: "ben@example.com"}, model.RoleTriager)
		off := w.user(model.User{Name: "off@example.com"}, model.RoleViewer)
		left := w.user(model.User{Name: "left@example.com"}, model.RoleViewer)
		disabled := w.user(model.User{Name: "disabled@example.com"}, model.RoleViewer)
		w.update(func(ctx context.Context, tx *store.Tx) error { return tx.SetRole(ctx, left.ID, model.RoleNone) })
		for _, err := range []error{w.s.DisableUser(w.Context(), disabled.ID, storetest.Actor), w.s.SetUserMail(w.Context(), off.ID, "", true, storetest.Actor)} {
			if err != nil {
				w.Fatal(err)
			}
		}
		for text, want := range map[string][]string{
			"nothing":                                nil,
			"@ben@example.com @ben@example.com, see": {"ben@example.com"},
			"@ana@example.com reminds herself":       nil,
			"@off@example.com @left@example.com @disabled@example.com @unknown@example.com @noise": nil,
		} {
			w.comments(ana, finding, text)
			w.runDueJobs()
			w.runDueJobs()
			var got []string
			for _, l := range p.drain() {
				got = append(got, l.to)
				text, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(l.body)))
				if err != nil {
					w.Fatal(err)
				}
				body := strings.ReplaceAll(string(text), "\u200b", "")
				for _, words := range []string{"ana@example.com mentioned you on a finding in acme/api", "see", "/findings/", "/account"} {
					if !strings.Contains(body, words) {
						w.Errorf("the mail lacks %q: %s", words, body)
					}
				}
			}
			if !slices.Equal(got, want) {
				w.Errorf("%q: mail goes to %q, want %q", text, got, want)
			}
		}
		c := w.comments(ana, finding, "@ben@example.com never mind")
		w.update(func(ctx context.Context, tx *store.Tx) error {
			_, err := triage.WithdrawComment(ctx, tx, model.Finding{LineageID: finding.ID}, c.ID, ana.ID, false)
			return err
		})
		if w.runDueJobs(); len(p.drain()) != 0 {
			w.Error("mail was sent for a comment withdrawn before its delivery")
		}
	})
}

// TestRulesSendComments checks that rules send comments on findings that match their filters,
// regardless of triage.
func TestRulesSendComments(t *testing.T) {
	each(t, func(w *world) {
		for name, filter := range map[string]string{"all": "", "other": "repos=acme/other", "fixed": "status=fixed"} {
			w.addRule(func(r *model.NotificationRule) {
				r.Name, r.Filter, r.Events = name, filter, model.NotificationEvents(0).With(model.EventComment)
			})
		}
		finding := w.found(added{n: 1, severity: model.SeverityLow})[0]
		c := w.comments(w.user(model.User{Name: "ana"}, model.RoleViewer), finding, "is it <b>reachable</b>?")
		w.runDueJobs()
		got := w.receiver.events(w.T)
		if len(got) != 1 {
			w.Fatalf("%d events were sent: %+v", len(got), got)
		}
		if e := got[0]; e.Type != "redoubt.comment" || e.Data.Title != "ana commented on a finding in acme/api" || e.Data.Reason != c.Text || len(e.Data.Findings) != 1 {
			w.Errorf("%+v", e)
		}
	})
}

// withdraws withdraws a comment.
func (w *world) withdraws(c model.FindingComment) {
	w.Helper()
	w.update(func(ctx context.Context, tx *store.Tx) error {
		_, err := triage.WithdrawComment(ctx, tx, model.Finding{LineageID: c.LineageID}, c.ID, c.AuthorID, true)
		return err
	})
}

// TestWithdrawnCommentIsNotSent checks that a withdrawn comment is not sent. This includes
// retries, digests, mail to mentioned users, and resent messages.
func TestWithdrawnCommentIsNotSent(t *testing.T) {
	each(t, func(w *world) {
		p := w.post()
		finding := w.found(added{n: 1, severity: model.SeverityHigh})[0]
		ana := w.user(model.User{Name: "ana"}, model.RoleViewer)
		w.user(model.User{Name: "ben@example.com"}, model.RoleViewer)
		about := model.NotificationEvents(0).With(model.EventComment)
		hook, _ := w.addRule(func(r *model.NotificationRule) { r.Name, r.Events = "hook", about })
		daily, _ := w.addRule(func(r *model.NotificationRule) {
			r.Name, r.Events, r.Channel, r.To, r.Digest = "daily", about, model.ChannelEmail, []string{"all@example.com"}, model.DigestDay
		})
		w.receiver.respondWith(503)
		p.refuse(&smtp.SMTPError{Code: 451, Message: "later"})
		secret := w.comments(ana, finding, "@ben@example.com the key is hunter2")
		w.runDueJobs()
		if n := len(w.receiver.drain()); n != 1 || len(p.drain()) != 0 {
			t.Fatalf("%d attempts were made", n)
		}
		for _, rule := range []int64{hook.ID, daily.ID, 0} {
			if list := w.log(rule); len(list) != 1 || list[0].Message.Reason != "" || list[0].State != model.NotificationQueued {
				t.Errorf("rule %d keeps the text, or does not wait: %+v", rule, list)
			}
		}
		w.withdraws(secret)
		w.comments(ana, finding, "it stays, @ben@example.com")
		w.receiver.respondWith(204)
		p.refuse(nil)
		for range 3 {
			w.clock.Advance(12 * time.Hour)
			w.runDueJobs()
		}
		if got := w.receiver.events(t); len(got) != 1 || got[0].Data.Reason != "it stays, @ben@example.com" {
			t.Errorf("the webhook got %+v", got)
		}
		var to []string
		for _, l := range p.drain() {
			to = append(to, l.to)
			if strings.Contains(l.body, "hunter2") || !strings.Contains(l.body, "it stays") || strings.Contains(l.subject, "notifications") {
				t.Errorf("mail is %+v", l)
			}
		}
		slices.Sort(to)
		if want := []string{"all@example.com", "ben@example.com"}; !slices.Equal(to, want) {
			t.Errorf("mail goes to %q, want %q", to, want)
		}
		for _, rule := range []int64{hook.ID, daily.ID, 0} {
			failed := slices.DeleteFunc(w.log(rule), func(n model.Notification) bool { return n.State != model.NotificationFailed })
			if len(failed) != 1 || failed[0].Problem != "The comment was withdrawn." {
				t.Errorf("the log of %d says %+v", rule, failed)
			}
		}
	})
}

// TestSentCommentIsNotSentAgain checks that a sent comment is not sent again once it was
// withdrawn or its project was removed.
func TestSentCommentIsNotSentAgain(t *testing.T) {
	for name, invalidate := range map[string]func(w *world, c model.FindingComment){
		"withdrawn": func(w *world, c model.FindingComment) { w.withdraws(c) },
		"removed":   func(w *world, _ model.FindingComment) { removeProject(w, model.Exception{}) },
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(w *world) {
				rule, _ := w.addRule(func(r *model.NotificationRule) { r.Events = model.NotificationEvents(0).With(model.EventComment) })
				finding := w.found(added{n: 1, severity: model.SeverityLow})[0]
				c := w.comments(w.user(model.User{Name: "ana"}, model.RoleViewer), finding, "hunter2")
				w.runDueJobs()
				if got := w.receiver.events(t); len(got) != 1 || got[0].Data.Reason != "hunter2" {
					t.Fatalf("told: %+v", got)
				}
				invalidate(w, c)
				w.update(func(ctx context.Context, tx *store.Tx) error {
					_, err := tx.ResendNotification(ctx, rule.ID, w.log(rule.ID)[0].ID)
					return err
				})
				w.runDueJobs()
				if got := w.receiver.drain(); len(got) != 0 {
					t.Errorf("told again: %s", got[0].body)
				}
				if log := w.log(rule.ID); len(log) != 1 || log[0].State != model.NotificationFailed {
					t.Errorf("the log says %+v", log)
				}
			})
		})
	}
}

// TestRemovedUsersGetNoMentionMail checks that users who left or were disabled before the mail is
// sent get none.
func TestRemovedUsersGetNoMentionMail(t *testing.T) {
	each(t, func(w *world) {
		p := w.post()
		finding := w.found(added{n: 1, severity: model.SeverityHigh})[0]
		ana := w.user(model.User{Name: "ana"}, model.RoleViewer)
		left := w.user(model.User{Name: "left@example.com"}, model.RoleViewer)
		disabled := w.user(model.User{Name: "disabled@example.com"}, model.RoleViewer)
		w.user(model.User{Name: "here@example.com"}, model.RoleViewer)
		w.comments(ana, finding, "@left@example.com @disabled@example.com @here@example.com")
		for w.step(store.NotifyJob) {
		}
		w.update(func(ctx context.Context, tx *store.Tx) error { return tx.SetRole(ctx, left.ID, model.RoleNone) })
		if err := w.s.DisableUser(w.Context(), disabled.ID, storetest.Actor); err != nil {
			t.Fatal(err)
		}
		w.runDueJobs()
		if got := p.drain(); len(got) != 1 || got[0].to != "here@example.com" {
			t.Errorf("mail is %+v", got)
		}
	})
}
