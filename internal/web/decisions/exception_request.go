package decisions

import (
	"cmp"
	"context"
	"net/url"
	"strings"

	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/component"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// requestException requests an exception for the findings of a form. Invalid input is shown with the
// form.
func requestException(req *ui.Request, values url.Values) error {
	form, err := readExceptionForm(req, values)
	if err != nil {
		return err
	}
	var made model.Exception
	err = req.Update(func(ctx context.Context, tx *store.Tx) error {
		r := model.Exception{Reason: form.Reason, CreatorID: req.Viewer.UserID}
		r.TriageReason, _ = model.ParseTriageReason(form.TriageReason)
		if r.Until, err = model.ExceptionEnd(form.Until); err != nil {
			return err
		}
		findings, err := tx.FindingsByID(ctx, form.IDs)
		if err == nil {
			made, err = exceptions.Request(ctx, tx, r, findings)
		}
		return err
	})
	if status, why, is := ui.Refusal(err); is {
		form.Fault = why
		return showExceptionForm(req, status, form)
	}
	return ui.RedirectAfter(req, err, "/exceptions/"+ui.Decimal(made.ID)+"?done=asked")
}

func readExceptionForm(req *ui.Request, values url.Values) (f component.ExceptionForm, err error) {
	f = component.ExceptionForm{
		Reason: values.Get("reason"), Until: strings.TrimSpace(values.Get("until")),
		TriageReason: cmp.Or(values.Get("triage_reason"), model.AcceptableRisk.String()),
		Back:         values.Get("back"), Today: req.Today(), Key: "form",
	}
	if !req.IsLocal(f.Back) {
		f.Back = req.To("/exceptions")
	}
	picked, err := component.PickedFindings(model.SAST, values["id"])
	f.IDs = picked.IDs
	return f, err
}

func showExceptionForm(req *ui.Request, status int, form component.ExceptionForm) error {
	view, err := req.Findings()
	if err != nil {
		return err
	}
	if form.Findings, err = component.FindingsByID(req, view, form.IDs); err != nil {
		return err
	}
	return req.Show(status, ui.Page{
		Template: "exception_request",
		Title:    "Exception request",
		Section:  "requests",
		Data:     form,
	})
}
