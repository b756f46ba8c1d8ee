package policies

import (
	"context"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/report/semgrep"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/component"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// maxRuleForm is the maximum size of a form with rules in bytes.
const maxRuleForm = 4 << 20

// policyRulePage is a rule of a policy with its current and earlier versions.
type policyRulePage struct {
	Policy model.Policy
	policyRuleRow
	Versions []model.RuleVersion // newest first; empty for rules that were never distributed
	Version  model.RuleVersion   // the displayed version
	Lines    []component.CodeLine
}

// policyRule returns the rule of a policy in the path.
func policyRule(ctx context.Context, req *ui.Request, tx *store.Tx) (p model.Policy, r model.PolicyRule, err error) {
	of, err := strconv.ParseInt(req.HTTP.PathValue("rule"), 10, 64)
	if err != nil || of <= 0 {
		return p, r, model.ErrNotFound
	}
	if p, err = tx.Policy(ctx, req.PathID); err != nil {
		return p, r, err
	}
	r, err = tx.PolicyRule(ctx, req.PathID, of)
	return p, r, err
}

// showPolicyRule shows a rule in the version that the address names.
func showPolicyRule(req *ui.Request) error {
	p := &policyRulePage{}
	var rules [1]model.PolicyRule
	err := req.View(func(ctx context.Context, tx *store.Tx) (err error) {
		if p.Policy, rules[0], err = policyRule(ctx, req, tx); err != nil {
			return err
		}
		if p.Versions, err = tx.RuleVersions(ctx, rules[0].Rule.Name); err != nil {
			return err
		}
		return rateByAdvisories(ctx, tx, rules[:])
	})
	if err != nil {
		return err
	}
	list := &policyPage{policyRow: policyRow{Policy: p.Policy}}
	if err := openOfRules(req, list, rules[:]); err != nil {
		return err
	}
	p.policyRuleRow = list.List[0]
	slices.Reverse(p.Versions)
	if err := p.choose(req); err != nil {
		return err
	}
	return req.Show(http.StatusOK, ui.Page{Template: "policy_rule", Title: p.Rule.Name, Section: "policies", Data: p})
}

// choose reads the version in the address, or the newest.
func (p *policyRulePage) choose(req *ui.Request) error {
	requested := req.HTTP.URL.Query().Get("version")
	if len(p.Versions) == 0 {
		return nil
	}
	at := 0
	if requested != "" {
		if at = slices.IndexFunc(p.Versions, func(v model.RuleVersion) bool {
			return strconv.Itoa(v.Version) == requested
		}); at < 0 {
			return model.ErrNotFound
		}
	}
	p.Version = p.Versions[at]
	text, err := policy.YAML(p.Version.Text)
	for i, line := range strings.Split(strings.TrimRight(string(text), "\n"), "\n") {
		p.Lines = append(p.Lines, component.CodeLine{Number: i + 1, Text: line})
	}
	component.Highlight(req.HTTP.Context(), "rule.yaml", p.Lines)
	return err
}

// removePolicyRule removes a rule from a policy.
func removePolicyRule(req *ui.Request) error {
	var id int64
	err := req.Update(func(ctx context.Context, tx *store.Tx) error {
		p, r, err := policyRule(ctx, req, tx)
		if err != nil {
			return err
		}
		id = p.ID
		return tx.RemoveRule(ctx, id, r.Rule.Name)
	})
	return ui.RedirectAfter(req, err, "/policies/"+ui.Decimal(id)+"?removed=1")
}

// addRulesPage is the form that uploads rules, with its errors.
type addRulesPage struct {
	model.Policy
	Mode   string
	Text   string // typed rules
	Faults []model.FieldError
	Files  bool // files were selected, which the browser does not restore
}

func showAddRulesForm(req *ui.Request) error {
	return showAddRules(req, http.StatusOK, &addRulesPage{})
}

func showAddRules(req *ui.Request, status int, p *addRulesPage) error {
	err := req.View(func(ctx context.Context, tx *store.Tx) (err error) {
		p.Policy, err = tx.Policy(ctx, req.PathID)
		return err
	})
	if err != nil {
		return err
	}
	return req.Show(status, ui.Page{
		Template: "policy_add_rules",
		Title:    "Add rules to " + p.Name,
		Section:  "policies",
		Data:     p,
	})
}

// addRules adds the rules of the form, all or none.
func addRules(req *ui.Request) error {
	p, files, err := ruleForm(req)
	status := http.StatusBadRequest
	added := 0
	if err == nil {
		err = req.Update(func(ctx context.Context, tx *store.Tx) (err error) {
			added, err = p.serve(ctx, tx, req.PathID, files)
			return err
		})
	}
	var invalid *model.InvalidError
	switch {
	case err == nil:
		req.Redirect(req.To("/policies/" + ui.Decimal(req.PathID) + "?added=" + strconv.Itoa(added)))
		return nil
	case errors.Is(err, model.ErrTooLarge):
		status, p.Faults = http.StatusRequestEntityTooLarge, []model.FieldError{{
			Location: "files",
			Message:  "exceed 4 MiB in total: upload them one by one, or use redoubt policies add-rules",
		}}
	case errors.As(err, &invalid):
		p.Faults = invalid.Fields
	case errors.Is(err, model.ErrConflict):
		message, _ := ui.InputError(err)
		status, p.Faults = http.StatusConflict, []model.FieldError{{Location: "rules", Message: message}}
	default:
		return err
	}
	return showAddRules(req, status, p)
}

// serve adds the rules of files to the policy and returns their number.
func (p *addRulesPage) serve(ctx context.Context, tx *store.Tx, id int64, files []policy.File) (int, error) {
	mode, ok := model.ParsePolicyMode(p.Mode)
	if p.Mode != "" && !ok {
		return 0, model.Invalid("mode", "must be monitor, comment or block, or empty to keep current modes")
	}
	stored, err := tx.Policy(ctx, id)
	if err != nil {
		return 0, err
	}
	rules, err := policy.Gather(stored.Product, files...)
	if err != nil {
		return 0, err
	}
	list := make([]store.Serving, len(rules))
	for i, r := range rules {
		content, err := semgrep.ServedRule(r.Text, r.Product)
		if err != nil {
			return 0, err
		}
		list[i] = store.Serving{Rule: content, Text: r.Text, Mode: mode, PolicyID: id}
	}
	served, err := tx.ServeRules(ctx, list)
	return len(served), err
}

// ruleForm reads the multipart form: the fields and the files.
func ruleForm(req *ui.Request) (p *addRulesPage, files []policy.File, err error) {
	p = &addRulesPage{}
	parts, err := req.HTTP.MultipartReader()
	if err != nil {
		return p, nil, model.Invalid("form", "contains no files: select files or enter rules")
	}
	remaining := int64(maxRuleForm)
	fields := url.Values{}
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		text, err := readPart(part, err, &remaining)
		switch {
		case err != nil:
			return p, nil, err
		case part.FileName() == "" && part.FormName() != "files":
			fields.Add(part.FormName(), string(text))
		case part.FileName() != "":
			p.Files = true
			files = append(files, policy.File{Name: model.Line(part.FileName()), Text: text})
		}
	}
	p.Mode, p.Text = fields.Get("mode"), fields.Get("text")
	if strings.TrimSpace(p.Text) != "" {
		files = append(files, policy.File{Name: "typed", Text: []byte(p.Text)})
	}
	if len(files) == 0 {
		return p, nil, model.Invalid("files", "no rules: select a file or enter rules")
	}
	return p, files, ui.TextualValues("form", fields)
}

// readPart reads a part of a form up to the remaining size.
func readPart(part *multipart.Part, failed error, remaining *int64) ([]byte, error) {
	if failed != nil {
		return nil, model.Invalid("form", "cannot be parsed: send it again")
	}
	text, err := io.ReadAll(io.LimitReader(part, *remaining+1))
	if err != nil {
		return nil, model.Invalid("form", "cannot be parsed: send it again")
	}
	if *remaining -= int64(len(text)); *remaining < 0 {
		return nil, model.ErrTooLarge
	}
	return text, nil
}
