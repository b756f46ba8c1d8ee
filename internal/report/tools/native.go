package tools

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/read"
	"github.com/redoubt/redoubt/internal/report/secrets"
)

// native is the shared state of reading a tool's own JSON. Results are streamed, and each is
// converted to a finding or refused.
type native struct {
	*format.Walker
	rep      *model.Report
	secrets  *secrets.Redactor
	checkout format.Checkout
	file     string // the report file, for packages without a lockfile
	image    string // container image of the paths, as in the report
	rules    map[nativeRule]*model.Rule
}

type nativeRule struct {
	name      string
	issueType model.IssueType
}

func newNative(in *format.Input, o format.Options, tool string) *native {
	n := &native{
		Walker: in.Walker(), secrets: o.Secrets, file: format.FileInRepository(o), rules: map[nativeRule]*model.Rule{},
		rep: &model.Report{Tool: tool, Category: read.Text(o.Category).Name()},
	}
	n.checkout.AddRoot(o.Root)
	return n
}

// finish completes a document. It returns an error if more data follows. If there are no results,
// the report has the product otherwise.
func (n *native) finish(otherwise model.IssueType) ([]*model.Report, error) {
	if err := n.End(); err != nil {
		return nil, err
	}
	return n.reports(otherwise), nil
}

func (n *native) reports(otherwise model.IssueType) []*model.Report {
	for i := range n.rep.Results {
		n.rep.Products = n.rep.Products.With(n.rep.Results[i].Rule.IssueType)
	}
	if n.rep.Products == 0 {
		n.rep.Products = n.rep.Products.With(otherwise)
	}
	return []*model.Report{n.rep}
}

func (n *native) refuse(item, format string, args ...any) {
	n.rep.Refuse(model.Refusal{
		Item:   read.OneLine(item, read.MaxName),
		Reason: read.OneLine(fmt.Sprintf(format, args...), read.MaxName),
	})
}

// items returns an element function that decodes a value and calls handle, or refuses the item.
func items[T any](n *native, handle func(item string, v *T)) func(item string) error {
	return func(item string) error {
		var v T
		misfit, err := n.Decode(item, &v)
		if err != nil {
			return err
		}
		if misfit != "" {
			n.refuse(item, "%s", misfit)
			return nil
		}
		handle(item, &v)
		return nil
	}
}

// Rule returns the report's rule with the name and product of r. The first description is used.
func (n *native) Rule(r model.Rule) *model.Rule {
	key := nativeRule{r.Name, r.IssueType}
	if known := n.rules[key]; known != nil {
		return known
	}
	r.Severity = cmp.Or(r.Severity, model.SeverityMedium)
	r.Confidence = cmp.Or(r.Confidence, model.ConfidenceMedium)
	r.Category = cmp.Or(r.Category, "security")
	n.In.Build(format.RuleSize)
	n.rules[key] = &r
	n.rep.Rules = append(n.rep.Rules, &r)
	return &r
}

// AddResult adds a result, or refuses it if its rule or path is invalid. Missing severity and confidence
// are those of the rule.
func (n *native) AddResult(res model.Result, rule model.Rule, path string) *model.Result {
	if rule.Name == "" {
		n.refuse(res.Item, "it has no rule")
		return nil
	}
	if n.image != "" {
		if path = strings.TrimLeft(path, "/"); strings.HasPrefix(path, n.image) { // in the image's configuration
			path = n.file
		}
	}
	var err error
	if res.Path, err = n.checkout.Path(path); err != nil {
		n.refuse(res.Item, "%v", err)
		return nil
	}
	res.Rule = n.Rule(rule)
	res.Severity = cmp.Or(res.Severity, res.Rule.Severity)
	res.Confidence = cmp.Or(res.Confidence, res.Rule.Confidence)
	res.Message = cmp.Or(res.Message, res.Rule.Message, res.Rule.Name)
	res.Location.EndLine = max(res.Location.EndLine, res.Location.Line)
	n.In.Build(format.WeightOfResult(&res))
	if n.In.Budget.Err != nil { // the next token ends the reading
		return nil
	}
	n.rep.Results = append(n.rep.Results, res)
	return &n.rep.Results[len(n.rep.Results)-1]
}

// leak is a secret in a native report.
type leak struct {
	item     string
	rule     model.Rule
	path     string
	location model.Location
	raw      string   // the secret, which identifies the finding
	others   []string // other spellings of the secret and text that contains it
	commit   read.Text
	state    model.ValidationState
	severity model.Severity
}

// leaked adds a secret finding, of which only a keyed hash is stored (docs/reference/secrets.md).
// The secret is registered even if the finding is refused.
func (n *native) leaked(l leak) {
	match := &model.SecretMatch{
		Hash: n.secrets.Register(l.raw), Validation: cmp.Or(l.state, model.NoValidator), Commit: historical(l.commit),
	}
	for _, other := range l.others {
		n.secrets.Remember(strings.TrimSpace(other))
	}
	l.rule.IssueType = model.Secrets
	l.rule.SecretType = secrets.SecretTypeOf(l.rule.Name)
	l.rule.Severity = cmp.Or(l.rule.Severity, model.SeverityHigh)
	res := n.AddResult(model.Result{Item: l.item, Location: l.location, Severity: l.severity}, l.rule, l.path)
	if res != nil {
		secrets.Hide(res, match)
	}
}

// historical returns the commit, or "" if it consists of zeros.
func historical(commit read.Text) string {
	if strings.Trim(string(commit), "0") == "" {
		return ""
	}
	return commit.Name()
}
