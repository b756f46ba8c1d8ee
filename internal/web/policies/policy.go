package policies

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/ui"
)

const rulesPerPage = 100

// policiesPage is a list of policies.
type policiesPage struct {
	Rows    []policyRow
	Deleted bool // a policy was just deleted
}

type policyRow struct {
	model.Policy
	Rules, Served int
	Modes         []modeCount
}

type modeCount struct {
	Mode  string
	Count int
}

func listPolicies(req *ui.Request) error {
	p := &policiesPage{Deleted: req.HTTP.URL.Query().Has("deleted")}
	err := req.View(func(ctx context.Context, tx *store.Tx) error {
		policies, err := tx.Policies(ctx)
		if err != nil {
			return err
		}
		counts, err := tx.PolicyRuleCounts(ctx)
		for _, policy := range policies {
			p.Rows = append(p.Rows, policyRowOf(policy, counts))
		}
		return err
	})
	if err != nil {
		return err
	}
	return req.Show(http.StatusOK, ui.Page{Template: "policies", Title: "Policies", Section: "policies", Data: p})
}

func policyRowOf(policy model.Policy, counts []store.PolicyRuleCount) policyRow {
	row := policyRow{Policy: policy}
	byMode := map[model.PolicyMode]int{}
	for _, c := range counts {
		if c.PolicyID == policy.ID {
			row.Rules += c.Rules
			row.Served += c.Served
			byMode[c.Mode] = c.Rules
		}
	}
	for mode := model.ModeBlock; mode > 0; mode-- {
		row.Modes = append(row.Modes, modeCount{mode.String(), byMode[mode]})
	}
	return row
}

// policyPage is a policy with its rules.
type policyPage struct {
	policyRow
	List    []policyRuleRow
	Query   string
	Mode    string
	Next    string
	First   string
	Changed string // name of the rule whose mode was just set
	Back    string // query of this page, to return to
	Form    conditionForm
	Notice  *ui.Message // notice about a changed condition
	DueForm dueForm
	DueSet  bool // the due days were just changed
	Saved   bool // the settings were just changed
	Removed bool // a rule was just removed
	Added   int  // number of rules just added
	Set     int  // number of rules whose mode was just set to Mode in bulk
}

// ChangedElsewhere returns the rule whose mode was just set, if the filtered list does not contain
// it.
func (p *policyPage) ChangedElsewhere() string {
	if slices.ContainsFunc(p.List, func(r policyRuleRow) bool { return r.Rule.Name == p.Changed }) {
		return ""
	}
	return p.Changed
}

// Supply reports whether the policy is for the supply chain. Such conditions have more fields.
func (p *policyPage) Supply() bool { return p.Product == model.SCA }

type policyRuleRow struct {
	model.PolicyRule
	Address string // of its findings
	Open    int
}

func showPolicy(req *ui.Request) error {
	return showPolicyWith(req, http.StatusOK, func(*policyPage) {})
}

// conditionNotices contains the notices about changed conditions, by the word in the address.
var conditionNotices = map[string]string{
	"added":   "Condition added. Applies from the next build.",
	"removed": "Condition removed. Applies from the next build.",
}

// showPolicyWith shows a policy; fill sets rejected input.
func showPolicyWith(req *ui.Request, status int, fill func(*policyPage)) error {
	q := req.HTTP.URL.Query()
	p := &policyPage{
		Query: strings.TrimSpace(q.Get("q")), Mode: q.Get("mode"), Changed: q.Get("changed"),
		Notice: ui.DoneMessage(conditionNotices, q.Get("condition")), DueSet: q.Get("due") == "set", Saved: q.Has("saved"),
	}
	p.Form.Mode = model.ModeBlock.String()
	mode, ok := model.ParsePolicyMode(p.Mode)
	if p.Mode != "" && !ok {
		return model.Invalid("mode", "must be monitor, comment or block")
	}
	after, err := strconv.ParseInt("0"+q.Get("after"), 10, 64)
	if err != nil {
		return model.Invalid("after", "invalid page: go back to the first page")
	}
	p.Set, _ = strconv.Atoi(q.Get("set")) // an invalid number counts as 0
	p.Added, _ = strconv.Atoi(q.Get("added"))
	p.Removed = q.Has("removed")
	for _, name := range []string{"set", "saved", "added", "removed"} {
		q.Del(name)
	}
	q.Del("changed")
	q.Del("condition")
	q.Del("due")
	p.Back = q.Encode()
	var rules []model.PolicyRule
	var more bool
	err = req.View(func(ctx context.Context, tx *store.Tx) error {
		policy, err := tx.Policy(ctx, req.PathID)
		if err != nil {
			return err
		}
		counts, err := tx.PolicyRuleCounts(ctx)
		if err != nil {
			return err
		}
		p.policyRow, p.DueForm.Fields = policyRowOf(policy, counts), dueFieldsOf(policy)
		if rules, more, err = tx.FindPolicyRules(ctx, req.PathID, p.Query, mode, after, rulesPerPage); err != nil {
			return err
		}
		return rateByAdvisories(ctx, tx, rules)
	})
	if err != nil {
		return err
	}
	if err := openOfRules(req, p, rules); err != nil {
		return err
	}
	fill(p)
	q.Del("after")
	if after > 0 {
		p.First = req.To("/policies/" + ui.Decimal(req.PathID) + "?" + q.Encode())
	}
	if more {
		q.Set("after", ui.Decimal(rules[len(rules)-1].ID))
		p.Next = req.To("/policies/" + ui.Decimal(req.PathID) + "?" + q.Encode())
	}
	return req.Show(status, ui.Page{Template: "policy", Title: p.Name, Section: "policies", Data: p})
}

// rateByAdvisories sets the severity of vulnerability rules without one, as for their findings
// (docs/reference/advisories.md).
func rateByAdvisories(ctx context.Context, tx *store.Tx, rules []model.PolicyRule) error {
	var names []string
	for i := range rules {
		if rules[i].Rule.Unrated {
			names = append(names, strings.ToUpper(rules[i].Rule.Name))
		}
	}
	if len(names) == 0 {
		return nil
	}
	groups, err := tx.AdvisoryGroupsNamed(ctx, names)
	if err != nil {
		return err
	}
	summaries, err := tx.AdvisorySummaries(ctx, slices.Collect(maps.Values(groups)))
	for i := range rules {
		r := &rules[i].Rule
		if summary := summaries[groups[strings.ToUpper(r.Name)]]; r.Unrated && summary.Severity != 0 && !summary.Withdrawn {
			r.Severity, r.Unrated = summary.Severity, false
		}
	}
	return err
}

// openOfRules counts the open findings of the rules on the page.
func openOfRules(req *ui.Request, p *policyPage, rules []model.PolicyRule) error {
	view, err := req.Findings()
	if err != nil {
		return err
	}
	product := ui.ProductOf(p.Product)
	for _, r := range rules {
		filter := ui.AllFindings(product)
		filter.Statuses, filter.Rules = []model.Status{model.StatusOpen}, []string{r.Rule.Name}
		p.List = append(p.List, policyRuleRow{
			r, req.To(product.Path + "?rules=" + url.QueryEscape(r.Rule.Name)), view.Count(filter),
		})
	}
	return nil
}

// setRuleMode sets the mode of a rule.
func setRuleMode(req *ui.Request, form url.Values) error {
	mode, ok := model.ParsePolicyMode(form.Get("mode"))
	if !ok {
		return model.Invalid("mode", "must be monitor, comment or block")
	}
	name := form.Get("rule")
	var set model.PolicyRule
	err := req.Update(func(ctx context.Context, tx *store.Tx) (err error) {
		set, err = tx.SetRuleMode(ctx, req.PathID, name, mode)
		return err
	})
	if err != nil {
		return err
	}
	q, err := url.ParseQuery(form.Get("back"))
	if err != nil {
		q = url.Values{}
	}
	q.Set("changed", name)
	req.Redirect(req.To("/policies/" + ui.Decimal(req.PathID) + "?" + q.Encode() + "#rule-" + ui.Decimal(set.ID)))
	return nil
}
