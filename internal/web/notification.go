package web

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/notify"
	"github.com/redoubt/redoubt/internal/store"
)

func notificationPath(id int64) string { return notificationsPath + "/" + decimal(id) }

// notificationsView is the rules, a page of them.
type notificationsView struct {
	Rows  []notificationRow
	Pages pager
	Done  *message
}

const notificationRulesPerPage = 50

func notifications(req *request) error {
	page, err := pageOf(req.r.URL.Query())
	if err != nil {
		return err
	}
	v := notificationsView{Done: doneMessage(doneManaged, req.r.URL.Query().Get("done"))}
	err = req.view(func(ctx context.Context, tx *store.Tx) error {
		list, err := tx.NotificationRules(ctx)
		if err != nil {
			return err
		}
		v.Pages = newPager(page, notificationRulesPerPage, len(list), func(n int) string {
			return req.to(notificationsPath) + "?page=" + strconv.Itoa(n)
		})
		from := min((page-1)*notificationRulesPerPage, len(list))
		list = list[from:min(from+notificationRulesPerPage, len(list))]
		ids := model.Map(list, func(r model.NotificationRule) int64 { return r.ID })
		last, err := tx.LastNotifications(ctx, ids)
		for _, r := range list {
			v.Rows = append(v.Rows, notificationRow{r, deliveryRow{last[r.ID]}})
		}
		return err
	})
	if err != nil {
		return err
	}
	return req.show(http.StatusOK, pageView{
		Template: "notifications",
		Title:    "Notifications",
		Section:  "notifications",
		Data:     v,
	})
}

// newNotification is the form of a new rule.
func newNotification(req *request) error {
	return showNewNotification(req, http.StatusOK, newNotificationForm(req.r.URL.Query()))
}

func showNewNotification(req *request, status int, f notificationForm) error {
	return req.show(status, pageView{
		Template: "notification_new",
		Title:    "New notification rule",
		Section:  "notifications",
		Data:     f,
	})
}

// notifier is what makes and tries rules.
func notifier(req *request) (*notify.Notifier, error) {
	if req.Notifier == nil {
		return nil, model.ErrUnavailable
	}
	return req.Notifier, nil
}

// addNotification makes a rule. The secret of a webhook is shown on its page, once.
func addNotification(req *request, form url.Values) error {
	n, err := notifier(req)
	if err != nil {
		return err
	}
	var f notificationForm
	f.filledIn(form)
	var r model.NotificationRule
	var secret string
	address, err := f.apply(&r)
	if err == nil {
		err = req.update(func(ctx context.Context, tx *store.Tx) (err error) {
			r, secret, err = n.Add(ctx, tx, r, address)
			return err
		})
	}
	if said, ok := sayable(err); ok {
		f.Fault = said
		return showNewNotification(req, http.StatusBadRequest, f)
	}
	if err != nil {
		return err
	}
	toNotification(req, r.ID, "notification-made", secret)
	return nil
}

// toNotification leads to the page of a rule, with a secret that it shows once unless it is empty.
func toNotification(req *request, id int64, did, secret string) {
	if secret != "" {
		req.showOnce(notificationPath(id), id, secret)
		return
	}
	req.redirect(req.to(notificationPath(id) + "?done=" + did))
}

// deliveriesPerPage is how many messages the log of a rule lists, and at least as many as
// one rule may have receivers: those of a test are all on the first page.
const deliveriesPerPage = 50

// notificationView is one rule with its log.
type notificationView struct {
	notificationRow
	Form     notificationForm
	Log      []deliveryRow
	Tested   []deliveryRow // what came of the test that was sent just now
	Older    string        // address of the next page of the log; empty at its end
	Newest   string        // and of its first; empty there
	Secret   string        // that signs, this once
	MadeOnce bool          // a secret was made just now, and shown already
	Fault    string
	Done     *message
}

func notification(req *request) error {
	v := notificationView{Done: doneMessage(doneManaged, req.r.URL.Query().Get("done"))}
	made, secret := req.shownOnce(notificationPath(req.pathID))
	if made == req.pathID {
		v.Secret, v.MadeOnce = secret, secret == ""
	}
	return showNotification(req, http.StatusOK, req.pathID, v)
}

// showNotification shows a rule; a form that is filled in already stays so.
func showNotification(req *request, status int, id int64, v notificationView) error {
	q, bad := req.r.URL.Query(), &model.InvalidError{}
	before, tested := number(q, "before", bad), number(q, "tested", bad)
	if len(bad.Fields) > 0 {
		return bad
	}
	err := req.view(func(ctx context.Context, tx *store.Tx) (err error) {
		if v.NotificationRule, err = tx.NotificationRule(ctx, id); err != nil {
			return err
		}
		list, more, err := tx.Notifications(ctx, store.NotificationQuery{
			RuleID: id,
			Before: int64(before),
			Limit:  deliveriesPerPage,
		})
		for _, n := range list {
			v.Log = append(v.Log, deliveryRow{n})
			if tested > 0 && n.Message.Test && n.ID >= int64(tested) {
				v.Tested = append(v.Tested, deliveryRow{n})
			}
		}
		if more {
			v.Older = req.to(notificationPath(id)) + "?before=" + decimal(list[len(list)-1].ID)
		}
		return err
	})
	if err != nil {
		return err
	}
	if before > 0 {
		v.Newest = req.to(notificationPath(id))
	}
	if v.Form.ID == 0 {
		v.Form = formOfRule(v.NotificationRule)
	}
	return req.show(status, pageView{Template: "notification", Title: v.Name, Section: "notifications", Data: v})
}

// onNotification does something with the rule that the path names, and leads back to it with
// the secret that came of it; what the person can mend is said there.
func onNotification(
	req *request, did string, do func(ctx context.Context, tx *store.Tx, n *notify.Notifier, id int64) (secret string, err error),
) error {
	n, err := notifier(req)
	if err != nil {
		return err
	}
	var secret string
	err = req.update(func(ctx context.Context, tx *store.Tx) (err error) {
		secret, err = do(ctx, tx, n, req.pathID)
		return err
	})
	if said, ok := sayable(err); ok {
		return showNotification(req, http.StatusBadRequest, req.pathID, notificationView{Fault: said})
	}
	if err != nil {
		return err
	}
	toNotification(req, req.pathID, did, secret)
	return nil
}

// changeNotification changes what a rule is about, and where it leads where an address is given.
func changeNotification(req *request, form url.Values) error {
	n, err := notifier(req)
	if err != nil {
		return err
	}
	var f notificationForm
	err = req.update(func(ctx context.Context, tx *store.Tx) error {
		r, err := tx.NotificationRule(ctx, req.pathID)
		if err != nil {
			return err
		}
		f = formOfRule(r)
		f.filledIn(form)
		address, err := f.apply(&r)
		if err == nil {
			_, err = n.Change(ctx, tx, r, address)
		}
		return err
	})
	if said, ok := sayable(err); ok {
		f.Fault = said
		return showNotification(req, http.StatusBadRequest, req.pathID, notificationView{Form: f})
	}
	if err != nil {
		return err
	}
	toNotification(req, req.pathID, "notification-saved", "")
	return nil
}

// pauseNotification pauses a rule, or has it go on.
func pauseNotification(req *request, form url.Values) error {
	paused, did := form.Get("paused") == "on", "notification-resumed"
	if paused {
		did = "notification-paused"
	}
	return onNotification(req, did, func(ctx context.Context, tx *store.Tx, n *notify.Notifier, id int64) (string, error) {
		r, err := tx.NotificationRule(ctx, id)
		if err == nil {
			r.Paused = paused
			_, err = n.Change(ctx, tx, r, "")
		}
		return "", err
	})
}

// rotateNotification gives a webhook another secret, which its page shows once.
func rotateNotification(req *request) error {
	return onNotification(req, "", func(ctx context.Context, tx *store.Tx, n *notify.Notifier, id int64) (string, error) {
		_, secret, err := n.Rotate(ctx, tx, id)
		return secret, err
	})
}

// resendNotification queues a message of the rule's log once more.
func resendNotification(req *request) error {
	message, err := strconv.ParseInt(req.r.PathValue("notification"), 10, 64)
	if err != nil {
		return model.ErrNotFound
	}
	return onNotification(req, "notification-resent", func(
		ctx context.Context, tx *store.Tx, _ *notify.Notifier, id int64,
	) (string, error) {
		_, err := tx.ResendNotification(ctx, id, message)
		return "", err
	})
}

// testNotification sends the receivers of a rule a message now; its page says what came of it.
func testNotification(req *request) error {
	n, err := notifier(req)
	if err != nil {
		return err
	}
	sent, err := n.Test(req.r.Context(), req.viewer.Deployment.ID, req.viewer.Actor(), req.pathID)
	if err != nil {
		return err
	}
	first := slices.MinFunc(sent, func(a, b model.Notification) int { return cmp.Compare(a.ID, b.ID) })
	req.redirect(req.to(notificationPath(req.pathID)) + "?tested=" + decimal(first.ID))
	return nil
}

// deleteNotification forgets a rule with its log.
func deleteNotification(req *request) error {
	err := req.update(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteNotificationRule(ctx, req.pathID) })
	return then(req, err, notificationsPath+"?done=notification-deleted")
}
