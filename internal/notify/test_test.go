package notify_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// TestTestsAreBounded checks the limit by deployment, and that each test is in the log and the
// audit log.
func TestTestsAreBounded(t *testing.T) {
	each(t, func(w *world) {
		p := w.post()
		var to []string
		for i := range 40 {
			to = append(to, fmt.Sprintf("p%d@example.com", i))
		}
		mail, _ := w.addRule(byMail(model.DigestDay, to...))
		hook, _ := w.addRule(nil)
		other := w.another()
		foreign, _ := other.addRule(nil)
		test := func(of *world, id int64) error {
			_, err := w.n.Test(t.Context(), of.d.ID, model.Actor{Kind: "user", ID: "1", Name: "alice"}, id)
			return err
		}
		for range 2 {
			if err := test(w, mail.ID); err != nil {
				t.Fatal(err)
			}
		}
		err := test(w, mail.ID) // 120 of 100 messages
		if busy, ok := errors.AsType[*model.BusyError](err); !ok || busy.Wait != 2*time.Minute {
			t.Errorf("a third test is %v", err)
		}
		if n := len(p.drain()); n != 80 {
			t.Errorf("%d letters were sent", n)
		}
		if err := errors.Join(test(w, hook.ID), test(other, foreign.ID)); err != nil {
			t.Errorf("tests within the bounds: %v", err)
		}
		w.clock.Advance(3 * time.Minute)
		if err := test(w, mail.ID); err != nil {
			t.Errorf("three minutes later: %v", err)
		}
		if n := len(w.log(mail.ID)); n != 120 {
			t.Errorf("the log has %d tests", n)
		}
		audited := 0
		w.view(func(ctx context.Context, tx *store.Tx) error {
			list, err := tx.AuditEvents(ctx, 0, 1000)
			for _, e := range list {
				if e.Action == "notification.test" && e.By.Name == "alice" {
					audited++
				}
			}
			return err
		})
		if audited != 4 {
			t.Errorf("%d tests are in the audit trail", audited)
		}
	})
}

// TestInterruptedTestsAreLogged checks that tests are logged even if the client disconnects.
func TestInterruptedTestsAreLogged(t *testing.T) {
	w := newWorld(t, "sqlite")
	r, _ := w.addRule(nil)
	ctx, hangUp := context.WithCancel(t.Context())
	w.receiver.answers(func(http.ResponseWriter, *http.Request) { hangUp() })
	if _, err := w.n.Test(ctx, w.d.ID, model.Actor{Kind: "user"}, r.ID); err != nil {
		t.Fatal(err)
	}
	if log := w.log(r.ID); len(log) != 1 || !log[0].Message.Test {
		t.Errorf("the log has %+v", log)
	}
}

// TestRulesCanAlwaysBePaused checks that invalid rules can be paused, but not changed otherwise.
func TestRulesCanAlwaysBePaused(t *testing.T) {
	w := newWorld(t, "sqlite")
	w.post()
	r, _ := w.addRule(byMail(model.DigestNone, "alice@example.com"))
	w.mail.Host = "" // the server can no longer send mail
	w.start()
	change := func(how func(r *model.NotificationRule)) (err error) {
		w.update(func(ctx context.Context, tx *store.Tx) error {
			now, failed := tx.NotificationRule(ctx, r.ID)
			if failed != nil {
				return failed
			}
			how(&now)
			_, err = w.n.Change(ctx, tx, now, "")
			return nil
		})
		return err
	}
	if err := change(func(r *model.NotificationRule) { r.Paused, r.Name = true, "another" }); err == nil || !strings.Contains(err.Error(), "mail") {
		t.Errorf("a change of the name: %v", err)
	}
	if err := change(func(r *model.NotificationRule) { r.Paused = true }); err != nil {
		t.Errorf("pausing: %v", err)
	}
	if err := change(func(r *model.NotificationRule) { r.Paused = false }); err == nil {
		t.Error("it goes on")
	}
}
