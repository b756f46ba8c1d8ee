package managed

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
	"github.com/redoubt/redoubt/internal/web/ui"
)

func notificationPath(id int64) string { return ui.NotificationsPath + "/" + ui.Decimal(id) }

// notificationsView is a page of notification rules.
type notificationsView struct {
	Rows  []notificationRow
	Pages ui.Pager
	Done  *ui.Message
}

const notificationRulesPerPage = 50

func notifications(req *ui.Request) error {
	page, err := ui.PageOf(req.HTTP.URL.Query())
	if err != nil {
		return err
	}
	v := notificationsView{Done: ui.DoneMessage(doneManaged, req.HTTP.URL.Query().Get("done"))}
	err = req.View(func(ctx context.Context, tx *store.Tx) error {
		list, err := tx.NotificationRules(ctx)
		if err != nil {
			return err
		}
		v.Pages = ui.NewPager(page, notificationRulesPerPage, len(list), func(n int) string {
			return req.To(ui.NotificationsPath) + "?page=" + strconv.Itoa(n)
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
	return req.Show(http.StatusOK, ui.Page{
		Template: "notifications",
		Title:    "Notifications",
		Section:  "notifications",
		Data:     v,
	})
}

// newNotification shows the form of a new rule.
func newNotification(req *ui.Request) error {
	return showNewNotification(req, http.StatusOK, newNotificationForm(req.HTTP.URL.Query()))
}

func showNewNotification(req *ui.Request, status int, f notificationForm) error {
	return req.Show(status, ui.Page{
		Template: "notification_new",
		Title:    "New notification rule",
		Section:  "notifications",
		Data:     f,
	})
}

// notifier returns the service that creates and tests rules, or model.ErrUnavailable.
func notifier(req *ui.Request) (*notify.Notifier, error) {
	if req.Notifier == nil {
		return nil, model.ErrUnavailable
	}
	return req.Notifier, nil
}

// addNotification creates a rule. Its page shows the secret of a webhook once.
func addNotification(req *ui.Request, form url.Values) error {
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
		err = req.Update(func(ctx context.Context, tx *store.Tx) (err error) {
			r, secret, err = n.Add(ctx, tx, r, address)
			return err
		})
	}
	if message, ok := ui.InputError(err); ok {
		f.Fault = message
		return showNewNotification(req, http.StatusBadRequest, f)
	}
	if err != nil {
		return err
	}
	toNotification(req, r.ID, "notification-made", secret)
	return nil
}

// toNotification redirects to the page of a rule. A secret that is not empty is shown there once.
func toNotification(req *ui.Request, id int64, did, secret string) {
	if secret != "" {
		req.ShowOnce(notificationPath(id), id, secret)
		return
	}
	req.Redirect(req.To(notificationPath(id) + "?done=" + did))
}

// deliveriesPerPage is the number of messages on a page of a rule's log. It is at least the maximum
// number of receivers, so the first page contains all messages of a test.
const deliveriesPerPage = 50

// notificationView is a rule with its log.
type notificationView struct {
	notificationRow
	Form     notificationForm
	Log      []deliveryRow
	Tested   []deliveryRow // results of the test that was just sent
	Older    string        // address of the next page of the log; empty on the last
	Newest   string        // address of the first page of the log; empty on it
	Secret   string        // signing secret, shown once
	MadeOnce bool          // a new secret was already shown
	Fault    string
	Done     *ui.Message
}

func notification(req *ui.Request) error {
	v := notificationView{Done: ui.DoneMessage(doneManaged, req.HTTP.URL.Query().Get("done"))}
	made, secret := req.ShownOnce(notificationPath(req.PathID))
	if made == req.PathID {
		v.Secret, v.MadeOnce = secret, secret == ""
	}
	return showNotification(req, http.StatusOK, req.PathID, v)
}

// showNotification shows a rule. Input in v.Form is preserved.
func showNotification(req *ui.Request, status int, id int64, v notificationView) error {
	q, bad := req.HTTP.URL.Query(), &model.InvalidError{}
	before, tested := ui.Number(q, "before", bad), ui.Number(q, "tested", bad)
	if len(bad.Fields) > 0 {
		return bad
	}
	err := req.View(func(ctx context.Context, tx *store.Tx) (err error) {
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
			v.Older = req.To(notificationPath(id)) + "?before=" + ui.Decimal(list[len(list)-1].ID)
		}
		return err
	})
	if err != nil {
		return err
	}
	if before > 0 {
		v.Newest = req.To(notificationPath(id))
	}
	if v.Form.ID == 0 {
		v.Form = formOfRule(v.NotificationRule)
	}
	return req.Show(status, ui.Page{Template: "notification", Title: v.Name, Section: "notifications", Data: v})
}

// onNotification applies do to the rule in the path and redirects to it, with the secret that do
// returned. Errors that the user can correct are shown there.
func onNotification(
	req *ui.Request, did string,
	do func(ctx context.Context, tx *store.Tx, n *notify.Notifier, id int64) (secret string, err error),
) error {
	n, err := notifier(req)
	if err != nil {
		return err
	}
	var secret string
	err = req.Update(func(ctx context.Context, tx *store.Tx) (err error) {
		secret, err = do(ctx, tx, n, req.PathID)
		return err
	})
	if message, ok := ui.InputError(err); ok {
		return showNotification(req, http.StatusBadRequest, req.PathID, notificationView{Fault: message})
	}
	if err != nil {
		return err
	}
	toNotification(req, req.PathID, did, secret)
	return nil
}

// changeNotification changes a rule and, if an address is set, its receiver.
func changeNotification(req *ui.Request, form url.Values) error {
	n, err := notifier(req)
	if err != nil {
		return err
	}
	var f notificationForm
	err = req.Update(func(ctx context.Context, tx *store.Tx) error {
		r, err := tx.NotificationRule(ctx, req.PathID)
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
	if message, ok := ui.InputError(err); ok {
		f.Fault = message
		return showNotification(req, http.StatusBadRequest, req.PathID, notificationView{Form: f})
	}
	if err != nil {
		return err
	}
	toNotification(req, req.PathID, "notification-saved", "")
	return nil
}

// pauseNotification pauses or resumes a rule.
func pauseNotification(req *ui.Request, form url.Values) error {
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

// rotateNotification replaces the secret of a webhook. The page of the rule shows it once.
func rotateNotification(req *ui.Request) error {
	return onNotification(req, "", func(ctx context.Context, tx *store.Tx, n *notify.Notifier, id int64) (string, error) {
		_, secret, err := n.Rotate(ctx, tx, id)
		return secret, err
	})
}

// resendNotification queues a message of the rule's log again.
func resendNotification(req *ui.Request) error {
	message, err := strconv.ParseInt(req.HTTP.PathValue("notification"), 10, 64)
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

// testNotification sends a test message to the receivers of a rule. The page of the rule shows the
// results.
func testNotification(req *ui.Request) error {
	n, err := notifier(req)
	if err != nil {
		return err
	}
	sent, err := n.Test(req.HTTP.Context(), req.Viewer.Deployment.ID, req.Viewer.Actor(), req.PathID)
	if err != nil {
		return err
	}
	first := slices.MinFunc(sent, func(a, b model.Notification) int { return cmp.Compare(a.ID, b.ID) })
	req.Redirect(req.To(notificationPath(req.PathID)) + "?tested=" + ui.Decimal(first.ID))
	return nil
}

// deleteNotification deletes a rule and its log.
func deleteNotification(req *ui.Request) error {
	err := req.Update(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteNotificationRule(ctx, req.PathID) })
	return ui.RedirectAfter(req, err, ui.NotificationsPath+"?done=notification-deleted")
}
