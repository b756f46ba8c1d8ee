package decisions

import (
	"cmp"
	"context"
	"net/http"

	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/component"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// ignoredShown is the maximum number of findings of a product that the page of an exception lists.
// The count above them includes all.
const ignoredShown = 200

const exceptionsPerPage = 50

// exceptionsPage is a list of exceptions.
type exceptionsPage struct {
	Show  string // requested, active, mine or all
	Rows  []component.ExceptionRow
	Tabs  []component.Choice
	Pages ui.Pager
	Done  *ui.Message
	exceptionForm
}

// exceptionTabs are the lists of exceptions, by the word in the address.
var exceptionTabs = []struct{ word, label string }{
	{"requested", "Requested"},
	{"active", "Active"},
	{"mine", "My requests"},
	{"all", "All"},
}

func listExceptions(req *ui.Request) error {
	return showExceptions(req, http.StatusOK, exceptionFormFrom(req.HTTP.URL.Query()))
}

func showExceptions(req *ui.Request, status int, form exceptionForm) error {
	q := req.HTTP.URL.Query()
	p := &exceptionsPage{Show: cmp.Or(q.Get("show"), "active"), exceptionForm: form}
	switch {
	case q.Get("made") != "":
		p.Done = &ui.Message{
			Code: "exception-made",
			Text: "The exception is active. It applies to present and future findings.",
		}
	case q.Get("removed") != "":
		p.Done = &ui.Message{
			Code: "exception-removed",
			Text: "The exception was removed. Its findings are open again, unless a user triaged them or another " +
				"exception applies.",
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
		query.CreatorID = req.Viewer.UserID
	case "all":
	default:
		return model.Invalid("show", "must be requested, active, mine or all")
	}
	for _, tab := range exceptionTabs {
		p.Tabs = append(p.Tabs, component.Choice{
			Label:   tab.label,
			Address: req.To("/exceptions?show=" + tab.word),
			Current: tab.word == p.Show,
		})
	}
	if err := readExceptions(req, p, query); err != nil {
		return err
	}
	return req.Show(status, ui.Page{Template: "exceptions", Title: "Exceptions", Section: section, Data: p})
}

// readExceptions reads one page of exceptions and their total number.
func readExceptions(req *ui.Request, p *exceptionsPage, q store.ExceptionQuery) error {
	page, err := ui.PageOf(req.HTTP.URL.Query())
	if err != nil {
		return err
	}
	view, err := req.Findings()
	if err != nil {
		return err
	}
	q.Skip = (page - 1) * q.Limit
	err = req.View(func(ctx context.Context, tx *store.Tx) error {
		total, err := tx.CountExceptions(ctx, q)
		if err != nil {
			return err
		}
		p.Pages = ui.NewPager(page, q.Limit, total, func(n int) string {
			return req.To("/exceptions?show=" + p.Show + "&page=" + ui.Decimal(int64(n)))
		})
		list, _, err := tx.ExceptionPage(ctx, q)
		if err == nil {
			p.Rows, err = component.ExceptionRows(ctx, req, tx, view, list)
		}
		return err
	})
	if err == nil {
		err = component.TitleExceptions(req, view, p.Rows)
	}
	if err == nil {
		err = addCode(req, p.Rows)
	}
	return err
}

// exceptionPage is an exception with its findings and decisions.
type exceptionPage struct {
	component.ExceptionRow
	Removing int // number of findings whose triage would change without the exception
	Products []ignoredProduct
	Findings []requestedFinding // findings that the exception names
	Mine     bool               // the viewer requested the exception
	Approver bool               // the viewer approved the exception and may undo the approval
	Fault    string             // why the decision was rejected
	Form     exceptionDecision
	Today    string // in UTC
	Done     *ui.Message

	// Fields of VEX documents.
	Withdraws  int // statements of the active document of the same name that the requested one omits
	Statements []vexStatement
	Pages      ui.Pager
}

type ignoredProduct struct {
	Product ui.Product
	Count   int
	Rows    []component.ShownFinding
}

func showException(req *ui.Request) error { return exception(req, http.StatusOK, nil, "") }

// exception shows the exception in the path. form and why are a rejected decision and its error.
func exception(req *ui.Request, status int, form *exceptionDecision, why string) error {
	id := req.PathID
	view, err := req.Findings()
	if err != nil {
		return err
	}
	page, err := ui.PageOf(req.HTTP.URL.Query())
	if err != nil {
		return err
	}
	p := &exceptionPage{
		Today: req.Today(),
		Fault: why,
		Done:  ui.DoneMessage(exceptionsDone, req.HTTP.URL.Query().Get("done")),
	}
	var ids map[model.IssueType][]int64
	var named []int64
	err = req.View(func(ctx context.Context, tx *store.Tx) (err error) {
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
	p.Mine = p.CreatorID != 0 && p.CreatorID == req.Viewer.UserID
	p.Approver = p.OfFindings() && p.Now == model.ExceptionActive && p.DecidedBy == req.Viewer.Actor()
	p.Form = proposedApproval(p.Until, req.Clock())
	if form != nil {
		p.Form = *form
	}
	title, template := "Exception for "+p.Target, "exception"
	switch p.Kind() {
	case model.ExceptionOfFindings:
		title = "Exception " + ui.Decimal(id)
	case model.ExceptionOfDocument:
		title, template = "VEX document "+ui.Decimal(id), "exception_document"
	}
	return req.Show(status, ui.Page{Template: template, Title: title, Section: "exceptions", Data: p})
}

// readException reads an exception with the findings that it ignores and those that it names.
func readException(
	ctx context.Context, req *ui.Request, tx *store.Tx, view *index.View, p *exceptionPage, id int64,
) (ids map[model.IssueType][]int64, named []int64, err error) {
	e, err := tx.Exception(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	list := []model.Exception{e}
	rows, err := component.ExceptionRows(ctx, req, tx, view, list)
	if err != nil {
		return nil, nil, err
	}
	p.ExceptionRow = rows[0]
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
	if req.Viewer.May(model.RoleTriager) && p.Now == model.ExceptionActive { // other users see no form to remove it
		var effect exceptions.Effect
		effect, err = exceptions.PreviewRemoving(ctx, tx, e)
		p.Removing = len(effect)
	}
	return ids, named, err
}

// ignoredProducts reads the findings that an exception with a target ignores.
func ignoredProducts(req *ui.Request, view *index.View, p *exceptionPage, ids map[model.IssueType][]int64) error {
	for _, product := range ui.Products {
		if len(ids[product.Type]) == 0 {
			continue
		}
		filter := component.IgnoredFindings(product.Type, ids[product.Type])
		page, err := view.Page(req.HTTP.Context(), filter, 0, ignoredShown)
		if err != nil {
			return err
		}
		rows, err := component.ShownFindings(page)
		if err != nil {
			return err
		}
		if len(rows) > 0 {
			p.Products = append(p.Products, ignoredProduct{product, view.Count(filter), rows})
		}
	}
	return nil
}

func removeException(req *ui.Request) error {
	err := req.Update(func(ctx context.Context, tx *store.Tx) error {
		_, _, err := exceptions.Remove(ctx, tx, req.PathID)
		return err
	})
	return ui.RedirectAfter(req, err, "/exceptions?removed=1")
}
