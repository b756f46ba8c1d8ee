package decisions

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// exceptionForm is the form that creates an exception, with its result.
type exceptionForm struct {
	Target, Projects, Paths, Until, Reason, TriageReason string
	Forever                                              bool
	Faults                                               []model.FieldError
	Preview                                              bool // the input is valid, and the effect is shown
	Changes                                              int  // number of findings that would change
	Where, End                                           string
}

func exceptionFormFrom(q url.Values) exceptionForm {
	return exceptionForm{
		Target: strings.TrimSpace(q.Get("target")), Projects: q.Get("projects"),
		Paths: q.Get("paths"), Until: strings.TrimSpace(q.Get("until")),
		Reason:       strings.TrimSpace(q.Get("reason")),
		TriageReason: cmp.Or(q.Get("triage_reason"), model.AcceptableRisk.String()), Forever: q.Get("forever") != "",
	}
}

// exception parses the form and adds errors to Faults.
func (f *exceptionForm) exception(req *ui.Request) model.Exception {
	e := model.Exception{Target: f.Target, Projects: ui.Lines(f.Projects), Paths: ui.Lines(f.Paths), Reason: f.Reason}
	e.TriageReason, _ = model.ParseTriageReason(f.TriageReason)
	switch {
	case f.Forever == (f.Until != ""):
		f.Faults = append(f.Faults, model.FieldError{
			Location: "until",
			Message:  "choose either an expiry date or \"Never expires\"",
		})
	case f.Until != "":
		var err error
		if e.Until, err = model.ParseUntil(f.Until); err != nil {
			f.Faults = append(f.Faults, model.FieldError{Location: "until", Message: err.Error()})
		}
	}
	if invalid, ok := errors.AsType[*model.InvalidError](e.Check(req.Clock())); ok {
		f.Faults = append(f.Faults, invalid.Fields...)
	}
	f.Where, f.End = e.Where(), e.UntilText()
	return e
}

// addException shows the effect of an exception. It creates the exception after the user has
// confirmed the effect.
func addException(req *ui.Request, values url.Values) (err error) {
	form := exceptionFormFrom(values)
	e := form.exception(req)
	if len(form.Faults) > 0 {
		return showExceptions(req, http.StatusBadRequest, form)
	}
	if values.Get("seen") == "" {
		form.Preview = true
		err = req.View(func(ctx context.Context, tx *store.Tx) error {
			effect, err := exceptions.PreviewAdding(ctx, tx, e)
			form.Changes = len(effect)
			return err
		})
		if err != nil {
			return err
		}
		return showExceptions(req, http.StatusOK, form)
	}
	err = req.Update(func(ctx context.Context, tx *store.Tx) error {
		_, _, err := exceptions.Add(ctx, tx, e)
		return err
	})
	return ui.RedirectAfter(req, err, "/exceptions?made=1")
}
