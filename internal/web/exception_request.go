package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/triage"
)

const requestsPerPage = 50

// exceptionRequestsPage is the queue of exceptions that people asked for, and what became
// of earlier ones.
type exceptionRequestsPage struct {
	Rows  []exceptionRequestRow
	Tabs  []choice
	Pages pager
}

type exceptionRequestRow struct {
	redoubt.ExceptionRequest
	Project string
	Finding int64 // the first
	Title   string
	Address string
	Code    findingCode // of the first; only where the request is open
}

// More is how many findings it is about beside the first.
func (r exceptionRequestRow) More() int { return len(r.Lineages) - 1 }

// requestTabs are the lists of requests, by the word in the address.
var requestTabs = []struct{ word, label string }{{"open", "Open"}, {"mine", "Asked by me"}, {"all", "All"}}

func (req *request) listExceptionRequests() error {
	q := req.r.URL.Query()
	page, err := pageOf(q)
	if err != nil {
		return err
	}
	show := cmp.Or(q.Get("show"), "open")
	query := store.ExceptionRequestQuery{Skip: (page - 1) * requestsPerPage, Limit: requestsPerPage}
	switch show {
	case "open":
		query.State = redoubt.RequestOpen
	case "mine":
		query.AskerID = req.viewer.UserID
	case "all":
	default:
		return redoubt.Invalid("show", "is open, mine or all")
	}
	p := &exceptionRequestsPage{}
	for _, tab := range requestTabs {
		p.Tabs = append(p.Tabs, choice{Label: tab.label, Address: req.to("/exception-requests?show=" + tab.word), Current: tab.word == show})
	}
	view, err := req.findings()
	if err != nil {
		return err
	}
	err = req.view(func(ctx context.Context, tx *store.Tx) error {
		total, err := tx.CountExceptionRequests(ctx, query)
		if err != nil {
			return err
		}
		p.Pages = newPager(page, requestsPerPage, total, func(n int) string {
			return req.to("/exception-requests?show=" + show + "&page=" + decimal(int64(n)))
		})
		list, _, err := tx.ExceptionRequests(ctx, query)
		if err == nil {
			p.Rows, err = req.exceptionRequestRows(ctx, tx, list)
		}
		return err
	})
	if err == nil {
		err = req.titleRequests(view, p.Rows)
	}
	if err == nil {
		err = req.addCode(p.Rows)
	}
	if err != nil {
		return err
	}
	return req.show(http.StatusOK, pageView{Template: "exception_requests", Title: "Exception requests", Section: "exception-requests", Data: p})
}

// exceptionRequestRows reads what lists show of requests, but for the titles of findings.
func (req *request) exceptionRequestRows(ctx context.Context, tx *store.Tx, list []redoubt.ExceptionRequest) ([]exceptionRequestRow, error) {
	shown, err := tx.FindingsOfRequests(ctx, list)
	if err != nil {
		return nil, err
	}
	projects := make([]int64, len(list))
	for i, r := range list {
		projects[i] = r.ProjectID
	}
	names, err := tx.ProjectNames(ctx, projects)
	rows := make([]exceptionRequestRow, len(list))
	for i, r := range list {
		rows[i] = exceptionRequestRow{ExceptionRequest: r, Project: names[r.ProjectID], Address: req.to("/exception-requests/" + decimal(r.ID))}
		for _, lineage := range r.Lineages {
			rows[i].Finding = cmp.Or(rows[i].Finding, shown[lineage])
		}
	}
	return rows, err
}

// titleRequests names the first finding of each request.
func (req *request) titleRequests(view *index.View, rows []exceptionRequestRow) error {
	ids := make([]int64, len(rows))
	for i, r := range rows {
		ids[i] = r.Finding
	}
	found, err := req.findingsByID(view, ids)
	titles := map[int64]string{}
	for _, f := range found {
		titles[f.ID] = f.Title()
	}
	for i := range rows {
		rows[i].Title = cmp.Or(titles[rows[i].Finding], "A finding that is gone")
	}
	return err
}

// findingsByID are those of the findings that lists show, of whatever product.
func (req *request) findingsByID(view *index.View, ids []int64) (out []shownFinding, err error) {
	for _, p := range products {
		page, err := view.Page(req.r.Context(), redoubt.FindingFilter{IssueType: p.Type, HasIDs: true, IDs: ids}, 0, max(len(ids), 1))
		if err != nil {
			return nil, err
		}
		found, err := shownFindings(page)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// exceptionRequestPage is one request, and deciding about it.
type exceptionRequestPage struct {
	exceptionRequestRow
	Findings []requestedFinding
	Mine     bool
	Fault    string // why the decision was not taken
	Form     requestDecision
	Today    string // in UTC
	Done     *message
	Decided  *decision // that can be undone; nil: none
}

// requestDecision is what somebody filled in who decides about a request.
type requestDecision struct {
	Until, Answer, Refusal string
	Forever                bool
}

// exceptionDays is the length that an approval proposes where the requested day has passed.
const exceptionDays = 90

// proposedApproval returns the approval form for a request: its day, or no end where it names
// none. A day that has passed is replaced by one that is exceptionDays ahead.
func proposedApproval(until, now time.Time) requestDecision {
	switch {
	case until.IsZero():
		return requestDecision{Forever: true}
	case redoubt.CheckRequestEnd(until, now) != nil:
		return requestDecision{Until: now.UTC().AddDate(0, 0, exceptionDays).Format(time.DateOnly)}
	}
	return requestDecision{Until: redoubt.LastDay(until)}
}

// requestsDone are what the page of a request says first, by the word in the address.
var requestsDone = map[string]string{
	"asked": "You asked for an exception. Whoever may triage finds it in the queue, and this page says what became of it.", "approved": "Approved. Its findings are ignored, and fail no build.",
	"refused": "Refused. The finding’s history says why.", "withdrawn": "Withdrawn.",
}

func (req *request) showExceptionRequest() error {
	return req.exceptionRequest(http.StatusOK, nil, "")
}

// exceptionRequest shows the request that the path names, with what was filled in and why
// that was not taken.
func (req *request) exceptionRequest(status int, form *requestDecision, why string) error {
	id, err := req.id()
	if err != nil {
		return err
	}
	p := &exceptionRequestPage{Today: req.today(), Fault: why, Done: doneMessage(requestsDone, req.r.URL.Query().Get("done"))}
	view, err := req.findings()
	if err != nil {
		return err
	}
	var ids []int64
	err = req.view(func(ctx context.Context, tx *store.Tx) error {
		r, err := tx.ExceptionRequest(ctx, id)
		if err != nil {
			return err
		}
		list := []redoubt.ExceptionRequest{r}
		rows, err := req.exceptionRequestRows(ctx, tx, list)
		if err != nil {
			return err
		}
		p.exceptionRequestRow = rows[0]
		shown, err := tx.FindingsOfRequests(ctx, list)
		for _, lineage := range r.Lineages {
			ids = append(ids, shown[lineage])
		}
		return err
	})
	if err != nil {
		return err
	}
	if p.Findings, err = req.requestedFindings(view, ids); err != nil {
		return err
	}
	if p.State == redoubt.RequestApproved {
		if p.Decided, err = req.decided(req.r.URL.Query().Get("decision"), p.Address); err != nil {
			return err
		}
	}
	p.Mine = p.AskerID != 0 && p.AskerID == req.viewer.UserID
	p.Form = proposedApproval(p.Until, req.Clock())
	if form != nil {
		p.Form = *form
	}
	return req.show(status, pageView{Template: "exception_request", Title: "Exception request " + decimal(id), Section: "exception-requests", Data: p})
}

// refusal is what people are told where what they asked will not do; false where it is
// another fault.
func refusal(err error) (status int, why string, is bool) {
	if invalid, ok := errors.AsType[*redoubt.InvalidError](err); ok {
		return http.StatusBadRequest, invalid.Fields[0].Message, true
	}
	if errors.Is(err, redoubt.ErrConflict) {
		return http.StatusConflict, strings.TrimSuffix(err.Error(), ": "+redoubt.ErrConflict.Error()), true
	}
	return 0, "", false
}

// decideExceptionRequest approves or refuses a request. What will not do is shown with what
// was filled in.
func (req *request) decideExceptionRequest() error {
	values, err := req.form()
	if err != nil {
		return err
	}
	id, err := req.id()
	if err != nil {
		return err
	}
	form := requestDecision{Until: strings.TrimSpace(values.Get("until")), Answer: values.Get("answer"), Refusal: values.Get("refusal"), Forever: values.Has("forever")}
	done := ""
	var o outcome
	err = req.update(func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.ExceptionRequest(ctx, id); err != nil {
			return err
		}
		switch values.Get("do") {
		case "approve":
			done = "approved"
			until, err := form.end()
			if err == nil {
				o.first, err = tx.LastTriageEvent(ctx)
			}
			if err == nil {
				_, _, err = triage.Approve(ctx, tx, id, until, form.Answer)
			}
			if err == nil {
				o.last, err = tx.LastTriageEvent(ctx)
			}
			return err
		case "refuse":
			done = "refused"
			_, err := triage.Refuse(ctx, tx, id, form.Refusal)
			return err
		}
		return redoubt.Invalid("do", "approve or refuse it")
	})
	if status, why, is := refusal(err); is {
		return req.exceptionRequest(status, &form, why)
	}
	to := "/exception-requests/" + decimal(id) + "?done=" + done
	if o.first != o.last {
		to += "&decision=" + decimal(o.first) + "-" + decimal(o.last) + "-0"
	}
	return req.then(err, to)
}

// then leads on where something was done.
func (req *request) then(err error, to string) error {
	if err == nil {
		req.redirect(req.to(to))
	}
	return err
}

// end is when what is approved ends.
func (f requestDecision) end() (time.Time, error) {
	if f.Forever == (f.Until != "") {
		return time.Time{}, redoubt.Invalid("until", "say a last day, or that it never expires, and not both")
	}
	return redoubt.RequestEnd(f.Until)
}

func (req *request) withdrawExceptionRequest() error {
	id, err := req.id()
	if err != nil {
		return err
	}
	err = req.update(func(ctx context.Context, tx *store.Tx) error {
		_, err := triage.Withdraw(ctx, tx, id, req.viewer.UserID)
		return err
	})
	if status, why, is := refusal(err); is {
		return req.exceptionRequest(status, nil, why)
	}
	return req.then(err, "/exception-requests/"+decimal(id)+"?done=withdrawn")
}
