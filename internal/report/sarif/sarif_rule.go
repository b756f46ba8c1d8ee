package sarif

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/read"
	"github.com/redoubt/redoubt/internal/report/secrets"
)

// madeRule is a converted rule with the values that its results use.
type madeRule struct {
	*model.Rule
	from     *sarifRule     // nil for a rule that the report does not describe
	byScore  model.Severity // from security-severity or a tag; overrides the level of a result
	byLevel  model.Severity // from the default level; overridden by the level of a result
	isSecret bool
}

// describeRules converts the rules of all components.
func (r *sarifRun) describeRules() {
	for _, c := range r.components {
		c.byID = make(map[string]*sarifRule, len(c.rules))
		for _, d := range c.rules {
			id := d.ID.Name()
			if id == "" || c.byID[id] != nil {
				continue
			}
			c.byID[id] = d
			d.made = r.makeRule(d)
			r.rep.Rules = append(r.rep.Rules, d.made.Rule)
			if r.traits.allRules {
				r.rep.RulesRun = append(r.rep.RulesRun, d.made.Name)
			}
		}
	}
	r.byID = make(map[string]*sarifRule, len(r.rep.Rules))
	for _, c := range slices.Backward(r.components) {
		maps.Copy(r.byID, c.byID)
	}
	r.rep.RulesRun = read.Distinct(r.rep.RulesRun)
	if len(r.rep.RulesRun) == 0 {
		r.rep.RulesRun = nil // unknown
	}
}

// ruleOf returns the rule of a result by any reference of the standard. It may be a component with
// an index or id, an id, or an index. Ids may be hierarchical, such as CA1000/1. A rule that the
// report does not describe has only a name. The name is empty if there is no reference.
func (r *sarifRun) ruleOf(res *sarifResult) *madeRule {
	id, index := res.RuleID, res.RuleIndex
	scope, ids := r.components[0], r.byID
	if ref := res.Rule; ref != nil {
		id = cmp.Or(id, ref.ID)
		if index == nil {
			index = ref.Index
		}
		if i := ref.ToolComponent.Index; i != nil && int(*i) < len(r.components)-1 {
			scope = r.components[*i+1]
			ids = scope.byID
		}
	}
	if d := findRule(ids, id.Name()); d != nil {
		return d.made
	}
	if index != nil && int(*index) < len(scope.rules) && id == "" {
		if d := scope.rules[*index]; d.made != nil {
			return d.made
		}
	}
	return r.bareRule(id)
}

// findRule returns the rule with an id or with one of its parents.
func findRule(ids map[string]*sarifRule, id string) *sarifRule {
	for id != "" {
		if d := ids[id]; d != nil {
			return d
		}
		id = id[:max(strings.LastIndexByte(id, '/'), 0)]
	}
	return nil
}

// bareRule adds a rule that the report does not describe.
func (r *sarifRun) bareRule(id read.Text) *madeRule {
	if id.Name() == "" {
		return &madeRule{Rule: &model.Rule{}}
	}
	d := &sarifRule{ID: id}
	r.In.Build(format.SizeOf(d))
	d.made = r.makeRule(d)
	d.made.from = nil
	r.components[0].byID[id.Name()], r.byID[id.Name()] = d, d
	r.rep.Rules = append(r.rep.Rules, d.made.Rule)
	return d.made
}

func (r *sarifRun) makeRule(d *sarifRule) *madeRule {
	tags := d.Properties.Tags.Names()
	m := &madeRule{
		Rule: &model.Rule{
			Name:      d.ID.Name(),
			IssueType: r.issueType(d, tags),
			Category:  categoryOfTags(tags),
			OWASP:     owaspOf(tags),
			CWE:       cweOf(d, tags),
			URL:       d.HelpURI.Link(),
		},
		from:    d,
		byScore: cmp.Or(format.SeverityOfNumber(string(d.Properties.Score)), severityOfTags(tags)),
		byLevel: format.SeverityOf(string(d.Default.Level)),
	}
	m.isSecret = m.IssueType == model.Secrets
	if d.Properties.Product != "" {
		r.secrets.Declared[m.Rule] = true
	}
	m.Severity = cmp.Or(m.byScore, m.byLevel, r.traits.severity)
	m.Confidence = cmp.Or(r.confidence(d, tags), model.ConfidenceMedium)
	switch {
	case m.isSecret:
		m.Message = cmp.Or(d.Full.plain(), d.Short.plain()).Block()
		m.Category = "security"
		m.SecretType = secrets.SecretTypeOf(m.Name)
	case r.traits.template:
		m.Message = d.Full.plain().Block()
	}
	return m
}

// issueType returns the product of a rule. Most tools have one product, Trivy has several.
func (r *sarifRun) issueType(d *sarifRule, tags []string) model.IssueType {
	switch {
	case strings.HasPrefix(string(d.ID), "CKV_SECRET_"):
		return model.Secrets
	case r.traits.tool == "trivy" && (d.Name == "Secret" || slices.Contains(tags, "secret")):
		return model.Secrets
	case r.traits.tool == "trivy" && strings.HasSuffix(string(d.Name), "PackageVulnerability"):
		return model.SCA
	}
	if r.traits.tool == "redoubt" {
		if t, ok := model.ParseIssueType(string(d.Properties.Product)); ok { // included in our own exports
			return t
		}
	}
	words := secrets.RuleTraits{
		Name: d.ID.Name(), Product: d.Properties.Product, Category: d.Properties.Category,
		Technology: d.Properties.Technology, Tags: tags,
	}
	if words.IsSecret() {
		return model.Secrets
	}
	return r.traits.issueType
}

func (r *sarifRun) confidence(d *sarifRule, tags []string) model.Confidence {
	if !r.traits.tagged {
		return format.ConfidenceOf(string(d.Properties.Precision))
	}
	for _, tag := range tags {
		if word, ok := strings.CutSuffix(tag, " CONFIDENCE"); ok {
			return format.ConfidenceOf(word)
		}
	}
	return 0
}

// severityOfTags returns the severity that gosec and Trivy include as a tag in capitals.
func severityOfTags(tags []string) model.Severity {
	for _, tag := range tags {
		switch tag {
		case "CRITICAL", "HIGH", "MEDIUM", "LOW":
			return format.SeverityOf(tag)
		}
	}
	return 0
}

// categoryOfTags returns the first tag that is a category.
func categoryOfTags(tags []string) string {
	for _, tag := range tags {
		switch tag {
		case "security", "correctness", "best-practice", "performance", "maintainability", "portability", "compatibility":
			return tag
		}
	}
	return ""
}

var (
	cweTag   = regexp.MustCompile(`^(?i:external/cwe/)?(?i:cwe)[-_:]?0*(\d+)$`)
	cweTitle = regexp.MustCompile(`^CWE-\d+: `)
	owaspTag = regexp.MustCompile(`^(?:OWASP[- ]+)?((?:A|API|M|LLM)\d+:\d{4}\b.*)$`)
)

// cweOf returns the CWEs in tags (CWE-79, external/cwe/cwe-079) and in relationships to the CWE
// taxonomy.
func cweOf(d *sarifRule, tags []string) []string {
	var out []string
	for _, tag := range tags {
		if m := cweTag.FindStringSubmatch(tag); m != nil {
			out = append(out, "CWE-"+m[1])
		} else if cweTitle.MatchString(tag) {
			out = append(out, tag)
		}
	}
	for _, rel := range d.Relationships[:min(len(d.Relationships), read.MaxList)] {
		if strings.EqualFold(string(rel.Target.ToolComponent.Name), "CWE") {
			if id := strings.TrimLeft(strings.TrimPrefix(rel.Target.ID.Name(), "CWE-"), "0"); id != "" {
				out = append(out, "CWE-"+id)
			}
		}
	}
	return read.Distinct(out)
}

func owaspOf(tags []string) []string {
	var out []string
	for _, tag := range tags {
		if m := owaspTag.FindStringSubmatch(tag); m != nil {
			out = append(out, m[1])
		}
	}
	return out
}
