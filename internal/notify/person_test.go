package notify_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// requestException creates a user and a request of that user for an exception for two findings.
func (w *world) requestException(u model.User) (made model.User, r model.Exception) {
	w.Helper()
	lineages := w.found(added{n: 2, severity: model.SeverityHigh})
	w.update(func(ctx context.Context, tx *store.Tx) (err error) {
		if made, err = tx.CreateUser(ctx, u, model.RoleViewer); err != nil {
			return err
		}
		findings := make([]model.Finding, len(lineages))
		for i, l := range lineages {
			findings[i] = model.Finding{ProjectID: l.ProjectID, LineageID: l.ID}
		}
		r, err = exceptions.Request(ctx, tx, model.Exception{Reason: "only tests", TriageReason: model.AcceptableRisk, CreatorID: made.ID}, findings)
		return err
	})
	return made, r
}

func refuse(w *world, r model.Exception) {
	w.update(func(ctx context.Context, tx *store.Tx) error {
		_, err := exceptions.Refuse(ctx, tx, r.ID, "upgrade instead")
		return err
	})
}

func removeProject(w *world, _ model.Exception) {
	w.update(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteProject(ctx, w.project.ID) })
}

// TestRequesterIsNotified checks that the requester is notified of the decision once, without a rule.
func TestRequesterIsNotified(t *testing.T) {
	each(t, func(w *world) {
		p := w.post()
		for i, c := range []struct {
			name   string
			decide func(w *world, r model.Exception)
			want   []string // contents of the one mail; none: no mail is sent
		}{
			{"approved", func(w *world, r model.Exception) {
				w.update(func(ctx context.Context, tx *store.Tx) error {
					_, _, err := exceptions.Approve(ctx, tx, r.ID, time.Time{}, "fine")
					return err
				})
			}, []string{"The exception you requested was approved, for 2 findings in acme/api", "fine", "/exceptions/", "/orgs/acme/account"}},
			{"approved and undone", func(w *world, r model.Exception) {
				w.update(func(ctx context.Context, tx *store.Tx) error {
					_, _, err := exceptions.Approve(ctx, tx, r.ID, time.Time{}, "fine")
					return err
				})
				w.runDueJobs()
				p.drain()
				w.update(func(ctx context.Context, tx *store.Tx) error {
					_, _, err := exceptions.Undo(ctx, tx, r.ID)
					return err
				})
				w.runDueJobs()
				w.update(func(ctx context.Context, tx *store.Tx) error { // otherwise the last one would end it
					_, err := exceptions.Withdraw(ctx, tx, r.ID, r.CreatorID)
					return err
				})
			}, []string{"was reset to pending after an approval by mistake, for 2 findings in acme/api"}},
			{"refused", refuse, []string{"was refused, for 2 findings in acme/api", "upgrade instead"}},
			{"withdrawn", func(w *world, r model.Exception) {
				w.update(func(ctx context.Context, tx *store.Tx) error {
					_, err := exceptions.Withdraw(ctx, tx, r.ID, r.CreatorID)
					return err
				})
			}, nil},
			{"rolled back", func(w *world, r model.Exception) {
				_ = w.s.Update(w.Context(), w.d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
					if _, err := exceptions.Refuse(ctx, tx, r.ID, "no"); err != nil {
						return err
					}
					return model.ErrConflict
				})
				w.update(func(ctx context.Context, tx *store.Tx) error { // otherwise the last one would end it
					_, err := exceptions.Withdraw(ctx, tx, r.ID, r.CreatorID)
					return err
				})
			}, nil},
			{"removed", removeProject, []string{"was ended, for 2 findings in acme/api", "findings were removed"}},
		} {
			to := fmt.Sprintf("alice%d@example.com", i)
			_, r := w.requestException(model.User{Name: to})
			w.runDueJobs()
			c.decide(w, r)
			w.runDueJobs()
			w.runDueJobs()
			letters := p.drain()
			if c.want == nil && len(letters) == 0 {
				continue
			}
			if len(letters) != 1 || letters[0].to != to {
				t.Errorf("%s: %+v", c.name, letters)
				continue
			}
			text := strings.ReplaceAll(strings.ReplaceAll(letters[0].body, "=\r\n", ""), "\u200b", "")
			for _, words := range c.want {
				if !strings.Contains(text, words) {
					t.Errorf("%s: the mail lacks %q: %s", c.name, words, text)
				}
			}
		}
	})
}

// TestRequesterMailRecipients is a table of requesters whose requests are refused.
func TestRequesterMailRecipients(t *testing.T) {
	each(t, func(w *world) {
		p := w.post()
		set := func(id int64, address string, untold bool) {
			if err := w.s.SetUserMail(w.Context(), id, address, untold, storetest.Actor); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range []struct {
			name              string
			requested, queued func(u model.User) // called after the request, and after the decision
			want              string
		}{
			{"no-address", nil, nil, ""},
			{"with@example.com", nil, nil, "with@example.com"},
			{"given", func(u model.User) { set(u.ID, "ann@example.com", false) }, nil, "ann@example.com"},
			{"other@example.com", func(u model.User) { set(u.ID, "work@example.com", false) }, nil, "work@example.com"},
			{"off@example.com", func(u model.User) { set(u.ID, "", true) }, nil, ""},
			{"off-late@example.com", nil, func(u model.User) { set(u.ID, "", true) }, ""},
			{"gone@example.com", nil, func(u model.User) {
				w.update(func(ctx context.Context, tx *store.Tx) error { return tx.SetRole(ctx, u.ID, model.RoleNone) })
			}, ""},
			{"disabled@example.com", func(u model.User) {
				if err := w.s.DisableUser(w.Context(), u.ID, storetest.Actor); err != nil {
					t.Fatal(err)
				}
			}, nil, ""},
		} {
			u, r := w.requestException(model.User{Name: c.name})
			if c.requested != nil {
				c.requested(u)
			}
			refuse(w, r)
			if c.queued != nil {
				for w.step(store.NotifyJob) {
				}
				c.queued(u)
			}
			w.runDueJobs()
			got := ""
			for _, l := range p.drain() {
				got += l.to
			}
			if got != c.want {
				t.Errorf("%s: mail goes to %q, want %q", c.name, got, c.want)
			}
		}
		if err := w.s.SetUserMail(t.Context(), 1, "no address", false, storetest.Actor); err == nil {
			t.Error("an address that is none is taken")
		}
	})
}

// TestOwnDecisionsAreNotNotified checks that requesters get no mail about their own decisions.
func TestOwnDecisionsAreNotNotified(t *testing.T) {
	w := newWorld(t, "sqlite")
	p := w.post()
	u, r := w.requestException(model.User{Name: "ann@example.com"})
	if err := w.s.Update(t.Context(), w.d.ID, u.Actor(), func(ctx context.Context, tx *store.Tx) error {
		_, err := exceptions.Refuse(ctx, tx, r.ID, "I was wrong")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if w.runDueJobs(); len(p.drain()) != 0 {
		t.Error("mail came")
	}
}

// TestRemovalsAreNotified checks that rules match a deleted request by its project only,
// regardless of their other filters.
func TestRemovalsAreNotified(t *testing.T) {
	each(t, func(w *world) {
		for name, filter := range map[string]string{"all": "", "tagged": "project_tags=team", "this": "repos=acme/api", "other": "repos=acme/other", "not this": "-repos=acme/api", "status": "status=fixed"} {
			w.addRule(func(r *model.NotificationRule) {
				r.Name, r.Filter, r.Events = name, filter, model.NotificationEvents(0).With(model.EventExceptionDecided)
			})
		}
		_, r := w.requestException(model.User{Name: "alice"})
		removeProject(w, r)
		w.runDueJobs()
		got := map[string]bool{}
		for _, e := range w.receiver.events(w.T) {
			got[e.Data.Title] = true
			if e.Data.Count != 2 {
				t.Errorf("%+v", e)
			}
		}
		list := 0
		w.view(func(ctx context.Context, tx *store.Tx) error {
			rules, err := tx.NotificationRules(ctx)
			for _, r := range rules {
				if last, err := tx.LastNotifications(ctx, []int64{r.ID}); err == nil && len(last) > 0 {
					list++
					if r.Name == "other" || r.Name == "not this" {
						t.Errorf("the rule %s was notified", r.Name)
					}
				}
			}
			return err
		})
		if list != 4 || len(got) != 1 || !got["The exception requested by alice was ended, for 2 findings in acme/api"] {
			t.Errorf("%d rules told %v", list, got)
		}
	})
}
