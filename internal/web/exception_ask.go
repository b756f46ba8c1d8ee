package web

import (
	"cmp"
	"context"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// askForm is an exception that somebody asks for, on its way.
type askForm struct {
	IDs                         []int64
	Reason, Until, TriageReason string
	Back                        string
	Fault                       string
	Findings                    []shownFinding
	Today                       string // in UTC
	Key                         string // tells its fields from others of the page
}

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

// MayAsk reports whether there is an exception to ask for: the finding is neither ignored
// nor fixed.
func (d *findingDetail) MayAsk() bool {
	return !d.Removed && d.Status != model.StatusIgnored.String() && d.Status != model.StatusFixed.String()
}

// AskForm asks for an exception for the finding.
func (d *findingDetail) AskForm() askForm {
	return askForm{
		IDs:          []int64{d.ID},
		Back:         d.Own,
		Today:        d.Today,
		TriageReason: model.AcceptableRisk.String(),
		Key:          decimal(d.ID),
	}
}

// askAbout returns the open requests about some findings of a project, and forms for the other
// findings that are open, each with at most model.MaxRequestFindings.
func askAbout(req *request, ids []int64, back string) (forms []askForm, pending []model.Exception, err error) {
	var open []int64
	err = req.view(func(ctx context.Context, tx *store.Tx) error {
		findings, err := tx.FindingsByID(ctx, ids)
		if err != nil {
			return err
		}
		lineages := make([]int64, len(findings))
		for i, f := range findings {
			lineages[i] = f.LineageID
		}
		live, err := tx.LineagesStillOpen(ctx, lineages)
		if err != nil {
			return err
		}
		asked, err := tx.RequestedExceptions(ctx, lineages)
		if err != nil {
			return err
		}
		for _, f := range findings {
			if asked[f.LineageID] == 0 && slices.Contains(live, f.LineageID) {
				open = append(open, f.ID)
			}
		}
		pending, err = openRequests(ctx, tx, asked)
		return err
	})
	for part := range slices.Chunk(open, model.MaxRequestFindings) {
		forms = append(forms, askForm{
			IDs:          part,
			Back:         back,
			Today:        req.today(),
			TriageReason: model.AcceptableRisk.String(),
			Key:          "all-" + decimal(part[0]),
		})
	}
	return forms, pending, err
}

// openRequests reads the requests that are pending by lineage, each once, in the order of their ids.
func openRequests(ctx context.Context, tx *store.Tx, byLineage map[int64]int64) (list []model.Exception, err error) {
	ids := slices.Sorted(maps.Values(byLineage))
	for _, id := range slices.Compact(ids) {
		r, err := tx.Exception(ctx, id)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}
