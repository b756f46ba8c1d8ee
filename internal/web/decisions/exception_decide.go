package decisions

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// exceptionDecision is the form of a decision about a request.
type exceptionDecision struct {
	Until, Answer, Refusal string
	Forever                bool
}

// exceptionDays is the proposed duration in days if the requested end has passed.
const exceptionDays = 90

// proposedApproval returns the approval form for a request: its last day, or no end if it has none.
// A passed day is replaced by one that is exceptionDays ahead.
func proposedApproval(until, now time.Time) exceptionDecision {
	switch {
	case until.IsZero():
		return exceptionDecision{Forever: true}
	case model.CheckExceptionEnd(until, now) != nil:
		return exceptionDecision{Until: now.UTC().AddDate(0, 0, exceptionDays).Format(time.DateOnly)}
	}
	return exceptionDecision{Until: model.LastDay(until)}
}

// exceptionsDone contains the notices on the page of an exception, by the word in the address.
var exceptionsDone = map[string]string{
	"asked":    "Exception requested. A user with the triager role decides; this page shows the decision.",
	"approved": "Approved. Its findings are ignored and do not fail builds.",
	"refused":  "Refused. The history of the finding contains the reason.", "withdrawn": "Withdrawn.",
	"undone": "Undone. The request is pending again, and its findings are restored.",
}

// decideException approves or refuses a request. Invalid input is shown with the form.
func decideException(req *ui.Request, values url.Values) error {
	var e model.Exception
	err := req.View(func(ctx context.Context, tx *store.Tx) (err error) {
		e, err = tx.Exception(ctx, req.PathID)
		return err
	})
	if err != nil {
		return err
	}
	if e.Document != nil {
		return decideDocument(req, values)
	}
	form := exceptionDecision{
		Until:   strings.TrimSpace(values.Get("until")),
		Answer:  values.Get("answer"),
		Refusal: values.Get("refusal"),
		Forever: values.Has("forever"),
	}
	switch values.Get("do") {
	case "approve":
		return change(req, "approved", &form, func(ctx context.Context, tx *store.Tx, id int64) error {
			until, err := form.end()
			if err == nil {
				_, _, err = exceptions.Approve(ctx, tx, id, until, form.Answer)
			}
			return err
		})
	case "refuse":
		return change(req, "refused", &form, func(ctx context.Context, tx *store.Tx, id int64) error {
			_, err := exceptions.Refuse(ctx, tx, id, form.Refusal)
			return err
		})
	}
	return model.Invalid("do", "must be approve or refuse")
}

func withdrawException(req *ui.Request) error {
	return change(req, "withdrawn", nil, func(ctx context.Context, tx *store.Tx, id int64) error {
		_, err := exceptions.Withdraw(ctx, tx, id, req.Viewer.UserID)
		return err
	})
}

func undoException(req *ui.Request) error {
	return change(req, "undone", nil, func(ctx context.Context, tx *store.Tx, id int64) error {
		_, _, err := exceptions.Undo(ctx, tx, id)
		return err
	})
}

// change applies do to the exception in the path and shows it again.
func change(
	req *ui.Request, done string, form *exceptionDecision, do func(context.Context, *store.Tx, int64) error,
) error {
	id := req.PathID
	err := req.Update(func(ctx context.Context, tx *store.Tx) error { return do(ctx, tx, id) })
	if status, why, is := ui.Refusal(err); is {
		return exception(req, status, form, why)
	}
	return ui.RedirectAfter(req, err, "/exceptions/"+ui.Decimal(id)+"?done="+done)
}

// end returns the end of the approved exception.
func (f exceptionDecision) end() (time.Time, error) {
	if f.Forever == (f.Until != "") {
		return time.Time{}, model.Invalid("until", "choose either an expiry date or \"Never expires\"")
	}
	return model.ExceptionEnd(f.Until)
}
