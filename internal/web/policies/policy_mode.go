package policies

import (
	"context"
	"net/http"
	"net/url"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// modesPage is the data of the page that sets the mode of all rules of a severity. It shows the
// gate's result for the currently open findings.
type modesPage struct {
	model.Policy
	Severity string // minimum severity
	Mode     string
	Rules    int // number of rules that would change
	From     []modeCount
	Sum      string // hash of the rules, to detect changes after the preview
	Outdated bool   // the rules changed after the preview
	policy.Impact
}

// previewModes shows the effect of a mode for all rules of a severity.
func previewModes(req *ui.Request) error {
	q := req.HTTP.URL.Query()
	for name, usual := range map[string]string{"severity": model.SeverityHigh.String(), "mode": model.ModeBlock.String()} {
		if !q.Has(name) {
			q.Set(name, usual)
		}
	}
	return showModes(req, http.StatusOK, q, false)
}

func showModes(req *ui.Request, status int, q url.Values, outdated bool) error {
	p := &modesPage{Outdated: outdated}
	err := req.View(func(ctx context.Context, tx *store.Tx) error {
		rules, err := chosenRules(ctx, req, tx, p, q)
		if err != nil || len(rules) == 0 {
			return err
		}
		mode, _ := model.ParsePolicyMode(p.Mode)
		for i := range rules {
			rules[i].Mode = mode
		}
		p.Impact, err = policy.Preview(ctx, tx, policy.Proposal{Policy: p.Policy, Rules: rules})
		return err
	})
	if err != nil {
		return err
	}
	return req.Show(status, ui.Page{
		Template: "policy_modes",
		Title:    "Bulk edit of " + p.Name,
		Section:  "policies",
		Data:     p,
	})
}

// chosenRules returns the rules of the policy with at least the severity and another mode.
func chosenRules(
	ctx context.Context, req *ui.Request, tx *store.Tx, p *modesPage, q url.Values,
) (rules []model.PolicyRule, err error) {
	severity, ok := model.ParseSeverity(q.Get("severity"))
	if !ok {
		return nil, model.Invalid("severity", "must be low, medium, high or critical")
	}
	mode, ok := model.ParsePolicyMode(q.Get("mode"))
	if !ok {
		return nil, model.Invalid("mode", "must be monitor, comment or block")
	}
	if p.Policy, err = tx.Policy(ctx, req.PathID); err != nil {
		return nil, err
	}
	p.Severity, p.Mode = severity.String(), mode.String()
	for after, more := int64(0), true; more; {
		var page []model.PolicyRule
		if page, more, err = tx.FindPolicyRules(ctx, req.PathID, "", 0, after, 10*rulesPerPage); err != nil ||
			len(page) == 0 {
			break
		}
		after = page[len(page)-1].ID
		if err := rateByAdvisories(ctx, tx, page); err != nil {
			return nil, err
		}
		rules = append(rules, slices.DeleteFunc(page, func(r model.PolicyRule) bool {
			return r.Rule.Severity < severity || r.Mode == mode
		})...)
	}
	p.count(rules)
	return rules, err
}

// count counts the rules by their current mode.
func (p *modesPage) count(rules []model.PolicyRule) {
	p.Rules = len(rules)
	byMode, modes := map[model.PolicyMode]int{}, map[int64]model.PolicyMode{}
	for _, r := range rules {
		byMode[r.Mode]++
		modes[r.ID] = r.Mode
	}
	p.Sum = seenOf(p.Policy, modes)
	for mode := model.ModeBlock; mode > 0; mode-- {
		if byMode[mode] > 0 {
			p.From = append(p.From, modeCount{mode.String(), byMode[mode]})
		}
	}
}

// setModes sets the mode of the rules, all or none, unless they changed after the preview.
func setModes(req *ui.Request, form url.Values) error {
	p := &modesPage{}
	changed := false
	err := req.Update(func(ctx context.Context, tx *store.Tx) error {
		rules, err := chosenRules(ctx, req, tx, p, form)
		if err != nil {
			return err
		}
		if changed = p.Sum != form.Get("sum"); changed {
			return nil
		}
		mode, _ := model.ParsePolicyMode(p.Mode)
		return tx.SetRuleModes(ctx, p.ID, rules, mode)
	})
	switch {
	case err != nil:
		return err
	case changed:
		return showModes(req, http.StatusConflict, form, true)
	}
	req.Redirect(
		req.To("/policies/" + ui.Decimal(p.ID) + "?" + url.Values{
			"mode": {p.Mode},
			"set":  {ui.Decimal(int64(p.Rules))},
		}.Encode()),
	)
	return nil
}
