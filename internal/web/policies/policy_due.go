package policies

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// dueForm is the form of a policy's due days.
type dueForm struct {
	Fields []dueField
	Fault  string
}

type dueField struct{ Name, Label, Days string }

// dueLabels contains the display names of the classes of findings.
var dueLabels = map[string]string{
	"critical": "Critical", "high": "High", "medium": "Medium", "low": "Low",
	"not_rated": "Not rated", "known_exploited": "Known exploited",
}

// dueFieldsOf returns the fields for a policy's product, with its current days.
func dueFieldsOf(p model.Policy) (out []dueField) {
	for _, name := range model.DueClasses() {
		if p.Product != model.SCA && (name == "not_rated" || name == "known_exploited") {
			continue
		}
		field := dueField{Name: name, Label: dueLabels[name]}
		if days := *p.Due.Class(name); days > 0 {
			field.Days = strconv.Itoa(days)
		}
		out = append(out, field)
	}
	return out
}

// Fill sets the fields to submitted values.
func (f *dueForm) Fill(sent url.Values) {
	for i := range f.Fields {
		f.Fields[i].Days = sent.Get(f.Fields[i].Name)
	}
}

// days parses the fields. The user can correct the errors.
func (f *dueForm) days() (d model.DueDays, err error) {
	for _, field := range f.Fields {
		text := strings.TrimSpace(field.Days)
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > model.MaxDueDays {
			return d, model.Invalid(field.Name, "%s: use 1 to %d days, or leave empty for no due date",
				field.Label, model.MaxDueDays)
		}
		*d.Class(field.Name) = n
	}
	return d, nil
}

// setDueDays sets the due days of a policy.
func setDueDays(req *ui.Request, sent url.Values) error {
	form, fault := dueForm{}, error(nil)
	err := req.Update(func(ctx context.Context, tx *store.Tx) error {
		p, err := tx.Policy(ctx, req.PathID)
		if err != nil {
			return err
		}
		form.Fields = dueFieldsOf(p)
		form.Fill(sent)
		if p.Due, fault = form.days(); fault != nil {
			return fault
		}
		_, _, err = policy.Save(ctx, tx, p)
		return err
	})
	if fault != nil {
		form.Fault = fault.Error()
		return showPolicyWith(req, http.StatusBadRequest, func(p *policyPage) { p.DueForm = form })
	}
	return ui.RedirectAfter(req, err, "/policies/"+ui.Decimal(req.PathID)+"?due=set#due")
}
