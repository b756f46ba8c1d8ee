package web

import (
	"cmp"
	"context"
	"net/url"
	"strings"

	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// askException asks for an exception for the findings of a form. What will not do is shown
// with what was filled in.
func askException(req *request, values url.Values) error {
	form, err := askFormFrom(req, values)
	if err != nil {
		return err
	}
	var made model.Exception
	err = req.update(func(ctx context.Context, tx *store.Tx) error {
		r := model.Exception{Reason: form.Reason, CreatorID: req.viewer.UserID}
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
	if status, why, is := refusal(err); is {
		form.Fault = why
		return showAskForm(req, status, form)
	}
	return then(req, err, "/exceptions/"+decimal(made.ID)+"?done=asked")
}

func askFormFrom(req *request, values url.Values) (f askForm, err error) {
	f = askForm{
		Reason: values.Get("reason"), Until: strings.TrimSpace(values.Get("until")),
		TriageReason: cmp.Or(values.Get("triage_reason"), model.AcceptableRisk.String()),
		Back:         values.Get("back"), Today: req.today(), Key: "form",
	}
	if !req.local(f.Back) {
		f.Back = req.to("/exceptions")
	}
	picked, err := picked(model.SAST, values["id"])
	f.IDs = picked.IDs
	return f, err
}

func showAskForm(req *request, status int, form askForm) error {
	view, err := req.findings()
	if err != nil {
		return err
	}
	if form.Findings, err = findingsByID(req, view, form.IDs); err != nil {
		return err
	}
	return req.show(status, pageView{
		Template: "exception_ask",
		Title:    "Ask for an exception",
		Section:  "requests",
		Data:     form,
	})
}
