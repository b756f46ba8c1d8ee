package notify_test

import (
	"context"
	"io"
	"mime/quotedprintable"
	"slices"
	"strings"
	"testing"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/storetest"
	"github.com/redoubt/redoubt/internal/triage"
)

// comments has a user comment on a finding.
func (w *world) comments(author redoubt.User, l redoubt.Lineage, text string) (c redoubt.FindingComment) {
	w.Helper()
	err := w.s.Update(w.Context(), w.d.ID, author.Actor(), func(ctx context.Context, tx *store.Tx) (err error) {
		c, err = triage.Comment(ctx, tx, redoubt.Finding{LineageID: l.ID}, text, author.ID)
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
	return c
}

func (w *world) user(u redoubt.User, role redoubt.Role) (made redoubt.User) {
	w.Helper()
	w.update(func(ctx context.Context, tx *store.Tx) (err error) {
		made, err = tx.CreateUser(ctx, u, role)
		return err
	})
	return made
}

// TestWhoIsMentionedIsTold once a comment, by mail of their own, and nobody else is.
func TestWhoIsMentionedIsTold(t *testing.T) {
	each(t, func(w *world) {
		p := w.post()
		finding := w.found(added{n: 1, severity: redoubt.SeverityHigh})[0]
		ana := w.user(redoubt.User{Name: "ana@example.com"}, redoubt.RoleViewer)
		w.user(redoubt.User{Name: "ben@example.com"}, redoubt.RoleTriager)
		off := w.user(redoubt.User{Name: "off@example.com"}, redoubt.RoleViewer)
		left := w.user(redoubt.User{Name: "left@example.com"}, redoubt.RoleViewer)
		disabled := w.user(redoubt.User{Name: "disabled@example.com"}, redoubt.RoleViewer)
		w.update(func(ctx context.Context, tx *store.Tx) error { return tx.SetRole(ctx, left.ID, redoubt.RoleNone) })
		for _, err := range []error{w.s.DisableUser(w.Context(), disabled.ID, storetest.Actor), w.s.SetUserMail(w.Context(), off.ID, "", true, storetest.Actor)} {
			if err != nil {
				w.Fatal(err)
			}
		}
		for text, want := range map[string][]string{
			"nobody":                                 nil,
			"@ben@example.com @ben@example.com, see": {"ben@example.com"},
			"@ana@example.com reminds herself":       nil,
			"@off@example.com @left@example.com @disabled@example.com @nobody@example.com @noise": nil,
		} {
			w.comments(ana, finding, text)
			w.settle()
			w.settle()
			var got []string
			for _, l := range p.take() {
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
			_, err := triage.WithdrawComment(ctx, tx, redoubt.Finding{LineageID: finding.ID}, c.ID, ana.ID, false)
			return err
		})
		if w.settle(); len(p.take()) != 0 {
			w.Error("of a comment that was withdrawn before anybody was told, mail came")
		}
	})
}

// TestRulesTellOfComments whose findings their filters keep, whatever was decided about these.
func TestRulesTellOfComments(t *testing.T) {
	each(t, func(w *world) {
		for name, filter := range map[string]string{"all": "", "other": "repos=acme/other", "fixed": "status=fixed"} {
			w.ask(func(r *redoubt.NotificationRule) {
				r.Name, r.Filter, r.Events = name, filter, redoubt.NotificationEvents(0).With(redoubt.EventComment)
			})
		}
		finding := w.found(added{n: 1, severity: redoubt.SeverityLow})[0]
		c := w.comments(w.user(redoubt.User{Name: "ana"}, redoubt.RoleViewer), finding, "is it <b>reachable</b>?")
		w.settle()
		got := w.receiver.events(w.T)
		if len(got) != 1 {
			w.Fatalf("%d events were told: %+v", len(got), got)
		}
		if e := got[0]; e.Type != "redoubt.comment" || e.Data.Title != "ana commented on a finding in acme/api" || e.Data.Reason != c.Text || len(e.Data.Findings) != 1 {
			w.Errorf("%+v", e)
		}
	})
}
