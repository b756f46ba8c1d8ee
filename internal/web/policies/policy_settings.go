package policies

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// policyForm is the form of a policy's settings.
type policyForm struct {
	Name, Product, Projects, Tags, Branches, Excludes string
	BlockAll                                          bool
	CopyMode                                          string // mode of the rules copied from the default policy
	Seen                                              string // hash of the stored settings
}

func policyFormFrom(q url.Values) policyForm {
	return policyForm{
		Name: strings.TrimSpace(q.Get("name")), Product: q.Get("product"), Projects: q.Get("projects"),
		Tags: q.Get("tags"), Branches: q.Get("branches"), Excludes: q.Get("excludes"),
		BlockAll: q.Get("block_all") != "", CopyMode: q.Get("take"), Seen: q.Get("seen"),
	}
}

func policyFormOf(p model.Policy) policyForm {
	return policyForm{
		Name: p.Name, Product: p.Product.String(),
		Projects: strings.Join(p.Scope.Projects, "\n"), Tags: strings.Join(p.Scope.Tags, "\n"),
		Branches: strings.Join(p.Branches, "\n"),
		Excludes: strings.Join(p.Excludes, "\n"), BlockAll: p.BlockAll, Seen: seenOf(p),
	}
}

// seenOf returns a hash of a policy's settings and further values.
func seenOf(p model.Policy, more ...any) string {
	// cannot fail: strings and numbers only
	text, _ := json.Marshal(append([]any{p.Name, p.Scope, p.Branches, p.Excludes, p.BlockAll}, more...))
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// over returns p with the settings of the form, validated.
func (f *policyForm) over(p model.Policy) (model.Policy, error) {
	p.Name, p.BlockAll = f.Name, f.BlockAll
	p.Scope, p.Branches, p.Excludes = model.PolicyScope{
		Projects: ui.Lines(f.Projects),
		Tags:     ui.Lines(f.Tags),
	}, ui.Lines(f.Branches), ui.Lines(f.Excludes)
	if p.ID == 0 {
		p.Product, _ = model.ParseIssueType(f.Product)
		p.Slug = model.SlugOf(p.Name)
		if p.Name != "" && !model.ValidSlug(p.Slug) {
			return p, model.Invalid("name", "must contain a letter from a to z, for the short name on the command line")
		}
	}
	err := p.Check()
	if invalid, ok := errors.AsType[*model.InvalidError](err); ok { // the error of the name is enough
		invalid.Fields = slices.DeleteFunc(invalid.Fields, func(f model.FieldError) bool { return f.Location == "slug" })
	}
	return p, err
}

// policySettingsPage is the settings form with the preview of a change.
type policySettingsPage struct {
	model.Policy // as stored; ID 0 for a new policy
	Form         policyForm
	Faults       []model.FieldError
	Outdated     bool // the policy was changed concurrently
	Would        *policyWould
	Unmatched    policy.Unmatched // branches of the form without a match
}

// policyWould is the preview of a valid change.
type policyWould struct {
	policy.Impact
	Same  bool // nothing would change
	Rules int  // number of rules that a new policy copies
}

// editPolicySettings shows the settings of a policy.
func editPolicySettings(req *ui.Request) error {
	return showPolicySettings(req, http.StatusOK, nil, false)
}

// showNewPolicyForm shows the form of a new policy for the product in the address.
func showNewPolicyForm(req *ui.Request) error {
	return showPolicySettings(req, http.StatusOK, url.Values{"product": {req.HTTP.URL.Query().Get("product")}}, false)
}

// previewPolicy shows the effect of submitted settings, for an existing or a new policy. It is a
// POST request, as long lists do not fit in an address.
func previewPolicy(req *ui.Request, sent url.Values) error {
	sent.Set("name", sent.Get("name")) // mark the form as submitted
	return showPolicySettings(req, http.StatusOK, sent, false)
}

// showPolicySettings shows the submitted form and its effect. Without a submitted form it shows the
// stored settings.
func showPolicySettings(req *ui.Request, status int, q url.Values, outdated bool, faults ...model.FieldError) error {
	p := &policySettingsPage{Form: policyFormFrom(q), Outdated: outdated, Faults: faults}
	if p.Form.Product == "" {
		p.Form.Product = model.SAST.String()
	}
	err := req.View(func(ctx context.Context, tx *store.Tx) (err error) {
		if req.PathID != 0 {
			if p.Policy, err = tx.Policy(ctx, req.PathID); err != nil {
				return err
			}
			if !q.Has("name") {
				p.Form = policyFormOf(p.Policy)
			}
			p.Form.Product, p.Form.Seen = p.Product.String(), seenOf(p.Policy)
		}
		if q.Has("name") && len(faults) == 0 {
			if err = p.foresee(ctx, tx); err != nil {
				return err
			}
		}
		if would, err := p.Form.over(p.Policy); err == nil { // errors were already added
			p.Unmatched, err = policy.UnmatchedBranches(ctx, tx, would)
			return err
		}
		return nil
	})
	if invalid, ok := errors.AsType[*model.InvalidError](err); ok {
		status, p.Faults = http.StatusBadRequest, ui.AsFilledIn(invalid.Fields)
	} else if err != nil {
		return err
	}
	title := "New policy"
	if req.PathID != 0 {
		title = "Settings of " + p.Name
	}
	return req.Show(status, ui.Page{Template: "policy_settings", Title: title, Section: "policies", Data: p})
}

// foresee computes the effect of the form.
func (p *policySettingsPage) foresee(ctx context.Context, tx *store.Tx) error {
	would, err := p.Form.over(p.Policy)
	if err != nil {
		return err
	}
	p.Would = &policyWould{Same: p.ID != 0 && seenOf(would) == seenOf(p.Policy)}
	if p.Would.Same {
		return nil
	}
	proposal := policy.Proposal{Policy: would}
	if p.ID == 0 {
		if proposal.Served, proposal.Rules, err = p.Form.copiedRules(ctx, tx, would.Product); err != nil {
			return err
		}
	}
	p.Would.Rules = len(proposal.Served) + len(proposal.Rules)
	p.Would.Impact, err = policy.Preview(ctx, tx, proposal)
	return err
}

// copiedRules returns the rules of the product's default policy in the mode of the form. served are
// distributed rules, and listed are rules known only from imports.
func (f *policyForm) copiedRules(
	ctx context.Context, tx *store.Tx, product model.IssueType,
) (served []model.ServedRule, listed []model.PolicyRule, err error) {
	mode, ok := model.ParsePolicyMode(f.CopyMode)
	switch {
	case f.CopyMode == "":
		return nil, nil, nil
	case !ok:
		return nil, nil, model.Invalid("take", "must be monitor, comment or block, or empty for no rules")
	}
	policies, err := tx.Policies(ctx)
	if err != nil {
		return nil, nil, err
	}
	at := slices.IndexFunc(policies, func(p model.Policy) bool { return p.Default && p.Product == product })
	if at < 0 {
		return nil, nil, nil
	}
	all, err := tx.ServedRules(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range all {
		if r.PolicyID == policies[at].ID {
			r.PolicyID, r.Mode = 0, mode
			served = append(served, r)
		}
	}
	for after, more := int64(0), true; more; {
		var page []model.PolicyRule
		if page, more, err = tx.PolicyRules(ctx, policies[at].ID, after, 10*rulesPerPage); err != nil || len(page) == 0 {
			break
		}
		after = page[len(page)-1].ID
		for _, r := range page {
			if !r.Served {
				r.PolicyID, r.Mode = 0, mode
				listed = append(listed, r)
			}
		}
	}
	return served, listed, err
}

// createPolicy creates a policy with the rules that it copies.
func createPolicy(req *ui.Request, sent url.Values) error {
	return savePolicyWith(req, sent, func(ctx context.Context, tx *store.Tx, form *policyForm) (model.Policy, error) {
		p, err := form.over(model.Policy{})
		if err != nil {
			return p, err
		}
		rules, listed, err := form.copiedRules(ctx, tx, p.Product)
		if err != nil {
			return p, err
		}
		if p, _, err = policy.Save(ctx, tx, p); err != nil {
			return p, err
		}
		list := make([]store.Serving, len(rules))
		for i, r := range rules {
			list[i] = store.Serving{
				Rule:     r.Rule,
				Text:     r.Text,
				Checked:  r.Checked,
				Starter:  r.Starter,
				Mode:     r.Mode,
				PolicyID: p.ID,
			}
		}
		if _, err = tx.ServeRules(ctx, list); err != nil || len(listed) == 0 {
			return p, err
		}
		return p, tx.ListRules(ctx, p.ID, listed, listed[0].Mode)
	})
}

// errSeenAnother means that a policy was changed after it was displayed.
var errSeenAnother = errors.New("the policy was changed in the meantime")

// savePolicySettings changes a policy, unless it was changed concurrently.
func savePolicySettings(req *ui.Request, sent url.Values) error {
	return savePolicyWith(req, sent, func(ctx context.Context, tx *store.Tx, form *policyForm) (model.Policy, error) {
		p, err := tx.Policy(ctx, req.PathID)
		if err != nil {
			return p, err
		}
		if form.Seen != seenOf(p) {
			return p, errSeenAnother
		}
		if p, err = form.over(p); err == nil {
			p, _, err = policy.Save(ctx, tx, p)
		}
		return p, err
	})
}

// savePolicyWith saves a form. If that fails, it shows the form with the errors.
func savePolicyWith(
	req *ui.Request, sent url.Values, save func(context.Context, *store.Tx, *policyForm) (model.Policy, error),
) error {
	form := policyFormFrom(sent)
	var p model.Policy
	err := req.Update(func(ctx context.Context, tx *store.Tx) (err error) {
		p, err = save(ctx, tx, &form)
		return err
	})
	sent.Set("name", form.Name) // mark the form as submitted
	var invalid *model.InvalidError
	switch {
	case err == nil:
		req.Redirect(req.To("/policies/" + ui.Decimal(p.ID) + "?saved=1"))
		return nil
	case errors.Is(err, errSeenAnother):
		return showPolicySettings(req, http.StatusConflict, sent, true)
	case errors.As(err, &invalid):
		return showPolicySettings(req, http.StatusBadRequest, sent, false, ui.AsFilledIn(invalid.Fields)...)
	case errors.Is(err, model.ErrConflict):
		return showPolicySettings(req, http.StatusConflict, sent, false, model.FieldError{
			Location: "name",
			Message:  "another policy has this name or a similar one: choose another name",
		})
	}
	return err
}

// policyDeletePage is the confirmation page for deleting a policy, with the effect.
type policyDeletePage struct {
	policyRow
	policy.Impact
	Fault string
	Seen  string // hash of all deleted data, to detect concurrent changes
}

// digest returns a hash of all data that is deleted with a policy.
func (r policyRow) digest() string { return seenOf(r.Policy, r.Conditions, r.Due, r.Modes) }

// readPolicyRow reads a policy and the counts of its rules.
func readPolicyRow(ctx context.Context, tx *store.Tx, id int64) (policyRow, error) {
	p, err := tx.Policy(ctx, id)
	if err != nil {
		return policyRow{}, err
	}
	counts, err := tx.PolicyRuleCounts(ctx)
	return policyRowOf(p, counts), err
}

// confirmDeletePolicy shows the confirmation page for deleting a policy.
func confirmDeletePolicy(req *ui.Request) error {
	return showDeletePolicy(req, http.StatusOK, "")
}

func showDeletePolicy(req *ui.Request, status int, fault string) error {
	p := &policyDeletePage{Fault: fault}
	err := req.View(func(ctx context.Context, tx *store.Tx) (err error) {
		if p.policyRow, err = readPolicyRow(ctx, tx, req.PathID); err != nil || p.Default {
			return err
		}
		p.Seen = p.digest()
		p.Impact, err = policy.Preview(ctx, tx, policy.Proposal{Policy: p.Policy, Deleted: true})
		return err
	})
	if err != nil {
		return err
	}
	return req.Show(status, ui.Page{Template: "policy_delete", Title: "Delete " + p.Name, Section: "policies", Data: p})
}

// deletePolicy deletes a policy if its name was entered and it was not changed concurrently.
func deletePolicy(req *ui.Request) error {
	meant, err := ui.DeleteNamed(req, func(ctx context.Context, tx *store.Tx, id int64) (string, error) {
		p, err := readPolicyRow(ctx, tx, id)
		if err == nil && !p.Default && req.HTTP.PostForm.Get("seen") != p.digest() {
			err = errSeenAnother
		}
		return p.Name, err
	}, (*store.Tx).DeletePolicy)
	switch {
	case errors.Is(err, errSeenAnother):
		return showDeletePolicy(req, http.StatusConflict, "Another user changed this policy in the meantime. "+
			"Nothing was deleted: review the effect below, then type the name again.")
	case errors.Is(err, model.ErrConflict):
		return showDeletePolicy(req, http.StatusConflict, "")
	case err != nil:
		return err
	case !meant:
		return showDeletePolicy(req,
			http.StatusBadRequest, "Nothing was deleted: type the policy name exactly as shown above.",
		)
	}
	req.Redirect(req.To("/policies?deleted=1"))
	return nil
}
