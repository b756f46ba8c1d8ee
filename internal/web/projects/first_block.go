package projects

import (
	"context"
	"net/http"
	"net/url"
	"reflect"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// firstBlockPage previews a condition for the default policies of all products.
type firstBlockPage struct {
	Severity string // minimum severity
	Rows     []firstBlockRow
}

// firstBlockRow is the effect of the condition in one policy.
type firstBlockRow struct {
	policy.Impact
	Policy  model.Policy
	Product ui.Product
	Set     bool   // the policy has the condition
	Matches int    // number of open findings that match
	Address string // address of these findings
}

// firstCondition returns the condition that the step adds.
func firstCondition(severity model.Severity) model.PolicyCondition {
	return model.PolicyCondition{Mode: model.ModeBlock, Severity: severity}
}

// hasCondition reports whether the policy has the condition, or one with a lower severity.
func hasCondition(p model.Policy, severity model.Severity) bool {
	return slices.ContainsFunc(p.Conditions, func(c model.PolicyCondition) bool {
		plain := firstCondition(c.Severity)
		plain.ID = c.ID
		return c.Severity > 0 && c.Severity <= severity && reflect.DeepEqual(c, plain)
	})
}

// defaultPolicies returns the default policy of each product.
func defaultPolicies(ctx context.Context, tx *store.Tx) ([]model.Policy, error) {
	policies, err := tx.Policies(ctx)
	return slices.DeleteFunc(policies, func(p model.Policy) bool { return !p.Default }), err
}

// previewFirstBlock shows the effect of blocking by severity.
func previewFirstBlock(req *ui.Request) error {
	severity, err := firstSeverity(req.HTTP.URL.Query().Get("severity"))
	if err != nil {
		return err
	}
	view, err := req.Findings()
	if err != nil {
		return err
	}
	p := &firstBlockPage{Severity: severity.String()}
	err = req.View(func(ctx context.Context, tx *store.Tx) error {
		policies, err := defaultPolicies(ctx, tx)
		if err != nil {
			return err
		}
		for _, of := range policies {
			row := firstBlockRow{Policy: of, Product: ui.ProductOf(of.Product), Set: hasCondition(of, severity)}
			f, q := ui.AllFindings(row.Product), url.Values{}
			f.Statuses = []model.Status{model.StatusOpen}
			for s := model.SeverityCritical; s >= severity; s-- {
				f.Severities = append(f.Severities, s)
				q.Add("severities", s.String())
			}
			row.Matches, row.Address = view.Count(f), req.To(row.Product.Path+"?"+q.Encode())
			would := of
			if !row.Set {
				would.Conditions = append(slices.Clip(of.Conditions), firstCondition(severity))
			}
			if row.Impact, err = policy.Preview(ctx, tx, policy.Proposal{Policy: would}); err != nil {
				return err
			}
			p.Rows = append(p.Rows, row)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return req.Show(http.StatusOK, ui.Page{
		Template: "start_block",
		Title:    "Block by severity",
		Section:  "overview",
		Data:     p,
	})
}

func firstSeverity(text string) (model.Severity, error) {
	severity, ok := model.ParseSeverity(text)
	if !ok {
		return 0, model.Invalid("severity", "must be low, medium, high or critical")
	}
	return severity, nil
}

// firstBlock adds the condition to the default policies that do not have it.
func firstBlock(req *ui.Request, form url.Values) error {
	severity, err := firstSeverity(form.Get("severity"))
	if err != nil {
		return err
	}
	err = req.Update(func(ctx context.Context, tx *store.Tx) error {
		policies, err := defaultPolicies(ctx, tx)
		if err != nil {
			return err
		}
		for _, p := range policies {
			if hasCondition(p, severity) {
				continue
			}
			if _, err := policy.AddCondition(ctx, tx, p, firstCondition(severity)); err != nil {
				return err
			}
		}
		return nil
	})
	return ui.RedirectAfter(req, err, ui.StartPath+"?done=blocks-severity")
}
