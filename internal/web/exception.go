package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/exemption"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/store"
)

// ignoredShown is how many findings of a product the page of an exception
// lists; the number above them counts all.
const ignoredShown = 200

const exceptionsPerPage = 50

// exceptionsPage lists what is accepted.
type exceptionsPage struct {
	Rows  []exceptionRow
	Pages pager
	Done  *message
	exceptionForm
}

type exceptionRow struct {
	redoubt.Exception
	Expired bool
	Ignores int // findings, each once
	Address string
}

func (req *request) exceptionRow(view *index.View, e redoubt.Exception, ids map[redoubt.IssueType][]int64) exceptionRow {
	row := exceptionRow{Exception: e, Expired: !e.Active(req.Clock()), Address: req.to("/exceptions/" + decimal(e.ID))}
	for t, list := range ids {
		row.Ignores += view.Count(ignoredFindings(t, list))
	}
	return row
}

// ignoredFindings selects the findings that an exception ignores, each once, among the
// occurrences of them.
func ignoredFindings(t redoubt.IssueType, ids []int64) redoubt.FindingFilter {
	return redoubt.FindingFilter{IssueType: t, HasIDs: true, IDs: ids, Dedup: true, Statuses: []redoubt.Status{redoubt.StatusIgnored}}
}

func (req *request) listExceptions() error {
	return req.showExceptions(http.StatusOK, exceptionFormFrom(req.r.URL.Query()))
}

func (req *request) showExceptions(status int, form exceptionForm) error {
	p := &exceptionsPage{exceptionForm: form}
	switch q := req.r.URL.Query(); {
	case q.Get("made") != "":
		p.Done = &message{"exception-made", "The exception is active. It covers findings that are there and those that come."}
	case q.Get("removed") != "":
		p.Done = &message{"exception-removed", "The exception was removed. What it ignored is open again, unless a person or another exception decided about it."}
	}
	if err := req.readExceptions(p); err != nil {
		return err
	}
	return req.show(status, pageView{Template: "exceptions", Title: "Exceptions", Section: "exceptions", Data: p})
}

// readExceptions reads one page of them, and counts all.
func (req *request) readExceptions(p *exceptionsPage) error {
	page, err := pageOf(req.r.URL.Query())
	if err != nil {
		return err
	}
	view, err := req.findings()
	if err != nil {
		return err
	}
	return req.view(func(ctx context.Context, tx *store.Tx) error {
		total, err := tx.CountExceptions(ctx)
		if err != nil {
			return err
		}
		p.Pages = newPager(page, exceptionsPerPage, total, func(n int) string { return req.to("/exceptions?page=" + decimal(int64(n))) })
		list, _, err := tx.ExceptionPage(ctx, store.ExceptionQuery{Skip: (page - 1) * exceptionsPerPage, Limit: exceptionsPerPage})
		if err != nil {
			return err
		}
		shown := make([]int64, len(list))
		for i := range list {
			shown[i] = list[i].ID
		}
		ids, err := tx.FindingsByException(ctx, shown...)
		for _, e := range list {
			p.Rows = append(p.Rows, req.exceptionRow(view, e, ids[e.ID]))
		}
		return err
	})
}

// exceptionForm is an exception on its way: what was filled in, and what came of
// it.
type exceptionForm struct {
	Target, Projects, Paths, Until, Reason, TriageReason string
	Forever                                              bool
	Faults                                               []redoubt.FieldError
	Preview                                              bool // it may be made, and would change
	Changes                                              int  // so many findings
	Where, End                                           string
}

func exceptionFormFrom(q url.Values) exceptionForm {
	return exceptionForm{
		Target: strings.TrimSpace(q.Get("target")), Projects: q.Get("projects"), Paths: q.Get("paths"), Until: strings.TrimSpace(q.Get("until")),
		Reason: strings.TrimSpace(q.Get("reason")), TriageReason: cmp.Or(q.Get("triage_reason"), redoubt.AcceptableRisk.String()), Forever: q.Get("forever") != "",
	}
}

// lines reads a list that has one entry a line.
func lines(text string) (out []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// exception reads the form; what is wrong with it is in Faults.
func (f *exceptionForm) exception(req *request) redoubt.Exception {
	e := redoubt.Exception{Target: f.Target, Projects: lines(f.Projects), Paths: lines(f.Paths), Reason: f.Reason}
	e.TriageReason, _ = redoubt.ParseTriageReason(f.TriageReason)
	switch {
	case f.Forever == (f.Until != ""):
		f.Faults = append(f.Faults, redoubt.FieldError{Location: "until", Message: "say a last day, or that it never expires, and not both"})
	case f.Until != "":
		var err error
		if e.Until, err = redoubt.ParseUntil(f.Until); err != nil {
			f.Faults = append(f.Faults, redoubt.FieldError{Location: "until", Message: err.Error()})
		}
	}
	if invalid, ok := errors.AsType[*redoubt.InvalidError](e.Check(req.Clock())); ok {
		f.Faults = append(f.Faults, invalid.Fields...)
	}
	f.Where, f.End = e.Where(), e.UntilText()
	return e
}

// addException shows what an exception would do, and makes it once that was
// seen.
func (req *request) addException() error {
	values, err := req.form()
	if err != nil {
		return err
	}
	form := exceptionFormFrom(values)
	e := form.exception(req)
	if len(form.Faults) > 0 {
		return req.showExceptions(http.StatusBadRequest, form)
	}
	if values.Get("seen") == "" {
		form.Preview = true
		err = req.view(func(ctx context.Context, tx *store.Tx) error {
			effect, err := exemption.PreviewAdding(ctx, tx, e)
			form.Changes = len(effect)
			return err
		})
		if err != nil {
			return err
		}
		return req.showExceptions(http.StatusOK, form)
	}
	err = req.update(func(ctx context.Context, tx *store.Tx) error {
		_, _, err := exemption.AddException(ctx, tx, e)
		return err
	})
	if err != nil {
		return err
	}
	req.redirect(req.to("/exceptions?made=1"))
	return nil
}

// exceptionPage is one exception, with what it ignores.
type exceptionPage struct {
	exceptionRow
	Removing int // findings whose triage would change without it
	Products []ignoredProduct
}

type ignoredProduct struct {
	Product product
	Count   int
	Rows    []shownFinding
}

func (req *request) showException() error {
	id, err := req.id()
	if err != nil {
		return err
	}
	view, err := req.findings()
	if err != nil {
		return err
	}
	p := &exceptionPage{}
	var ids map[redoubt.IssueType][]int64
	err = req.view(func(ctx context.Context, tx *store.Tx) error {
		e, err := tx.Exception(ctx, id)
		if err != nil {
			return err
		}
		all, err := tx.FindingsByException(ctx, id)
		if err != nil {
			return err
		}
		ids = all[id]
		p.exceptionRow = req.exceptionRow(view, e, ids)
		if req.viewer.May(triager) { // who alone sees it
			var effect exemption.Effect
			effect, err = exemption.PreviewRemoving(ctx, tx, e)
			p.Removing = len(effect)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, product := range products {
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
	return req.show(http.StatusOK, pageView{Template: "exception", Title: "Exception for " + p.Target, Section: "exceptions", Data: p})
}

func (req *request) removeException() error {
	id, err := req.id()
	if err != nil {
		return err
	}
	err = req.update(func(ctx context.Context, tx *store.Tx) error {
		_, _, err := exemption.RemoveException(ctx, tx, id)
		return err
	})
	if err != nil {
		return err
	}
	req.redirect(req.to("/exceptions?removed=1"))
	return nil
}

// asGlob writes a path as a glob that fits it alone.
var asGlob = strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]", `\`, "?")

// AcceptAddress is where what the finding is about is accepted, filled in: its
// vulnerability, or its rule, in its project.
func (d *findingDetail) AcceptAddress() string {
	q := url.Values{"target": {cmp.Or(d.Vulnerability(), d.RuleName)}, "projects": {d.Project.Name}, "paths": {"/" + asGlob.Replace(d.Location.FilePath)}}
	return "/exceptions?" + q.Encode() + "#add"
}
