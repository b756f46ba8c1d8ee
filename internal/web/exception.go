package web

import (
	"cmp"
	"context"
	"net/http"

	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// ignoredShown is how many findings of a product the page of an exception
// lists; the number above them counts all.
const ignoredShown = 200

const exceptionsPerPage = 50

// exceptionsPage lists exceptions of some states.
type exceptionsPage struct {
	Show  string // requested, active, mine or all
	Rows  []exceptionRow
	Tabs  []choice
	Pages pager
	Done  *message
	exceptionForm
}

// exceptionTabs are the lists of exceptions, by the word in the address.
var exceptionTabs = []struct{ word, label string }{
	{"requested", "Requested"},
	{"active", "Active"},
	{"mine", "Asked by me"},
	{"all", "All"},
}

func listExceptions(req *request) error {
	return showExceptions(req, http.StatusOK, exceptionFormFrom(req.r.URL.Query()))
}

func showExceptions(req *request, status int, form exceptionForm) error {
	q := req.r.URL.Query()
	p := &exceptionsPage{Show: cmp.Or(q.Get("show"), "active"), exceptionForm: form}
	switch {
	case q.Get("made") != "":
		p.Done = &message{"exception-made", "The exception is active. It covers findings that are there and those that come."}
	case q.Get("removed") != "":
		p.Done = &message{
			"exception-removed",
			"The exception was removed. What it ignored is open again, unless a person or another exception decided about it.",
		}
	}
	query := store.ExceptionQuery{Limit: exceptionsPerPage}
	section := "exceptions"
	switch p.Show {
	case "requested":
		query.State, section = model.ExceptionRequested, "requests"
	case "active":
		query.State = model.ExceptionActive
	case "mine":
		query.CreatorID = req.viewer.UserID
	case "all":
	default:
		return model.Invalid("show", "is requested, active, mine or all")
	}
	for _, tab := range exceptionTabs {
		p.Tabs = append(p.Tabs, choice{
			Label:   tab.label,
			Address: req.to("/exceptions?show=" + tab.word),
			Current: tab.word == p.Show,
		})
	}
	if err := readExceptions(req, p, query); err != nil {
		return err
	}
	return req.show(status, pageView{Template: "exceptions", Title: "Exceptions", Section: section, Data: p})
}

// readExceptions reads one page of them, and counts all.
func readExceptions(req *request, p *exceptionsPage, q store.ExceptionQuery) error {
	page, err := pageOf(req.r.URL.Query())
	if err != nil {
		return err
	}
	view, err := req.findings()
	if err != nil {
		return err
	}
	q.Skip = (page - 1) * q.Limit
	err = req.view(func(ctx context.Context, tx *store.Tx) error {
		total, err := tx.CountExceptions(ctx, q)
		if err != nil {
			return err
		}
		p.Pages = newPager(page, q.Limit, total, func(n int) string {
			return req.to("/exceptions?show=" + p.Show + "&page=" + decimal(int64(n)))
		})
		list, _, err := tx.ExceptionPage(ctx, q)
		if err == nil {
			p.Rows, err = exceptionRows(ctx, req, tx, view, list)
		}
		return err
	})
	if err == nil {
		err = titleExceptions(req, view, p.Rows)
	}
	if err == nil {
		err = addCode(req, p.Rows)
	}
	return err
}

// exceptionPage is one exception, what it ignores or names, and the decisions about it.
type exceptionPage struct {
	exceptionRow
	Removing int // findings whose triage would change without it
	Products []ignoredProduct
	Findings []requestedFinding // that it names
	Mine     bool               // the viewer asked for it
	Approver bool               // the viewer approved it, and may undo that
	Fault    string             // why the decision was not taken
	Form     exceptionDecision
	Today    string // in UTC
	Done     *message

	// Of a document.
	Withdraws  int // statements of the active document of its name which a requested one does not make any more
	Statements []vexStatement
	Pages      pager
}

type ignoredProduct struct {
	Product product
	Count   int
	Rows    []shownFinding
}

func showException(req *request) error { return exception(req, http.StatusOK, nil, "") }

// exception shows the exception that the path names, with what was filled in and why
// that was not taken.
func exception(req *request, status int, form *exceptionDecision, why string) error {
	id := req.pathID
	view, err := req.findings()
	if err != nil {
		return err
	}
	page, err := pageOf(req.r.URL.Query())
	if err != nil {
		return err
	}
	p := &exceptionPage{Today: req.today(), Fault: why, Done: doneMessage(exceptionsDone, req.r.URL.Query().Get("done"))}
	var ids map[model.IssueType][]int64
	var named []int64
	err = req.view(func(ctx context.Context, tx *store.Tx) (err error) {
		if ids, named, err = readException(ctx, req, tx, view, p, id); err == nil && p.Document != nil {
			err = p.readStatements(ctx, tx, page)
		}
		return err
	})
	if err != nil {
		return err
	}
	if p.Findings, err = requestedFindings(req, view, named); err != nil {
		return err
	}
	if err := ignoredProducts(req, view, p, ids); err != nil {
		return err
	}
	p.Mine = p.CreatorID != 0 && p.CreatorID == req.viewer.UserID
	p.Approver = p.OfFindings() && p.Now == model.ExceptionActive && p.DecidedBy == req.viewer.Actor()
	p.Form = proposedApproval(p.Until, req.Clock())
	if form != nil {
		p.Form = *form
	}
	title, template := "Exception for "+p.Target, "exception"
	switch p.Kind() {
	case model.ExceptionOfFindings:
		title = "Exception " + decimal(id)
	case model.ExceptionOfDocument:
		title, template = "VEX document "+decimal(id), "exception_document"
	}
	return req.show(status, pageView{Template: template, Title: title, Section: "exceptions", Data: p})
}

// readException reads an exception, the findings that it ignores, and those that it names.
func readException(
	ctx context.Context, req *request, tx *store.Tx, view *index.View, p *exceptionPage, id int64,
) (ids map[model.IssueType][]int64, named []int64, err error) {
	e, err := tx.Exception(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	list := []model.Exception{e}
	rows, err := exceptionRows(ctx, req, tx, view, list)
	if err != nil {
		return nil, nil, err
	}
	p.exceptionRow = rows[0]
	shown, err := tx.FindingsOfExceptions(ctx, list)
	if err != nil {
		return nil, nil, err
	}
	for _, lineage := range e.Lineages {
		named = append(named, shown[lineage])
	}
	if e.Kind() == model.ExceptionOfTarget {
		all, err := tx.FindingsByException(ctx, e)
		if err != nil {
			return nil, nil, err
		}
		ids = all[id]
	}
	if req.viewer.May(model.RoleTriager) && p.Now == model.ExceptionActive { // other people see no form to remove it
		var effect exceptions.Effect
		effect, err = exceptions.PreviewRemoving(ctx, tx, e)
		p.Removing = len(effect)
	}
	return ids, named, err
}

// ignoredProducts reads the findings that the exception of a target ignores.
func ignoredProducts(req *request, view *index.View, p *exceptionPage, ids map[model.IssueType][]int64) error {
	for _, product := range products {
		if len(ids[product.Type]) == 0 {
			continue
		}
		filter := ignoredFindings(product.Type, ids[product.Type])
		page, err := view.Page(req.r.Context(), filter, 0, ignoredShown)
		if err != nil {
			return err
		}
		rows, err := shownFindings(page)
		if err != nil {
			return err
		}
		if len(rows) > 0 {
			p.Products = append(p.Products, ignoredProduct{product, view.Count(filter), rows})
		}
	}
	return nil
}

func removeException(req *request) error {
	err := req.update(func(ctx context.Context, tx *store.Tx) error {
		_, _, err := exceptions.Remove(ctx, tx, req.pathID)
		return err
	})
	return then(req, err, "/exceptions?removed=1")
}
