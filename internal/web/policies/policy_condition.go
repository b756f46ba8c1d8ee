package policies

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// conditionForm is the form that adds a condition.
type conditionForm struct {
	Mode, Severity, Confidence, EPSS, Grace, Projects, Tags, Branches string
	// keys: reachable, exploited, malicious, fixable, direct
	Requirements map[string]bool
	Fault        string
}

func conditionFormFrom(q url.Values) conditionForm {
	f := conditionForm{
		Mode: q.Get("mode"), Severity: q.Get("severity"), Confidence: q.Get("confidence"),
		EPSS: strings.TrimSpace(q.Get("epss")), Grace: strings.TrimSpace(q.Get("grace")),
		Projects: q.Get("projects"), Tags: q.Get("tags"), Branches: q.Get("branches"), Requirements: map[string]bool{},
	}
	for _, what := range q["asks"] {
		f.Requirements[what] = true
	}
	return f
}

// condition parses the form. The user can correct the errors.
func (f *conditionForm) condition() (c model.PolicyCondition, err error) {
	c = model.PolicyCondition{
		Reachable: f.Requirements["reachable"], Exploited: f.Requirements["exploited"],
		Malicious: f.Requirements["malicious"], Fixable: f.Requirements["fixable"], Direct: f.Requirements["direct"],
		Scope: model.PolicyScope{Projects: ui.Lines(f.Projects), Tags: ui.Lines(f.Tags)}, Branches: ui.Lines(f.Branches),
	}
	c.Mode, _ = model.ParsePolicyMode(f.Mode)
	c.Severity, _ = model.ParseSeverity(f.Severity)
	c.Confidence, _ = model.ParseConfidence(f.Confidence)
	if f.EPSS != "" {
		if c.EPSS, err = strconv.ParseFloat(f.EPSS, 64); err != nil {
			return c, model.Invalid("epss", "invalid EPSS score: use a number from 0 to 1, such as 0.25")
		}
	}
	if f.Grace != "" {
		if c.GraceDays, err = strconv.Atoi(f.Grace); err != nil {
			return c, model.Invalid("grace", "invalid number of days: use a whole number")
		}
	}
	return c, nil
}

// addCondition adds a condition to a policy.
func addCondition(req *ui.Request, values url.Values) error {
	form := conditionFormFrom(values)
	c, err := form.condition()
	if err == nil {
		err = req.Update(func(ctx context.Context, tx *store.Tx) error {
			p, err := tx.Policy(ctx, req.PathID)
			if err != nil {
				return err
			}
			_, err = policy.AddCondition(ctx, tx, p, c)
			return err
		})
	}
	if invalid, ok := errors.AsType[*model.InvalidError](err); ok {
		form.Fault = invalid.Error()
		return showPolicyWith(req, http.StatusBadRequest, func(p *policyPage) { p.Form = form })
	}
	return ui.RedirectAfter(req, err, "/policies/"+ui.Decimal(req.PathID)+"?condition=added#conditions")
}

// removeCondition removes a condition from a policy.
func removeCondition(req *ui.Request) error {
	of, err := strconv.ParseInt(req.HTTP.PathValue("condition"), 10, 64)
	if err != nil {
		return model.ErrNotFound
	}
	err = req.Update(func(ctx context.Context, tx *store.Tx) error {
		p, err := tx.Policy(ctx, req.PathID)
		if err != nil {
			return err
		}
		_, err = policy.RemoveCondition(ctx, tx, p, of)
		return err
	})
	return ui.RedirectAfter(req, err, "/policies/"+ui.Decimal(req.PathID)+"?condition=removed#conditions")
}
