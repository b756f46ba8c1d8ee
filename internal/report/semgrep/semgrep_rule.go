package semgrep

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/redact"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/read"
	"github.com/redoubt/redoubt/internal/report/secrets"
)

// semgrepMetadata is the metadata of a rule, which each result contains.
type semgrepMetadata struct {
	Product          read.Text  `json:"product"`
	Category         read.Texts `json:"category"`
	Subcategory      read.Texts `json:"subcategory"`
	Confidence       read.Text  `json:"confidence"`
	CWE              read.Texts `json:"cwe"`
	OWASP            read.Texts `json:"owasp"`
	Technology       read.Texts `json:"technology"`
	Class            read.Texts `json:"vulnerability_class"`
	Tags             read.Texts `json:"tags"`
	References       read.Texts `json:"references"`
	Rulesets         read.Texts `json:"rulesets"`
	Ruleset          read.Texts `json:"semgrep.ruleset"`
	Source           read.Text  `json:"source"`
	Shortlink        read.Text  `json:"shortlink"`
	SecretType       read.Text  `json:"secret_type"`
	SCAKind          read.Text  `json:"sca-kind"`
	SCASeverity      read.Text  `json:"sca-severity"`
	SCAFixes         fixes      `json:"sca-fix-versions"`
	SCAVulnerability read.Text  `json:"sca-vuln-database-identifier"`

	Served servedVersion `json:"redoubt"`

	Actions           *read.Texts          `json:"dev.semgrep.actions"` // nil if absent, which means blocking
	ValidationActions map[string]read.Text `json:"dev.semgrep.validation_state.actions"`
	Dev               struct {
		Rule struct {
			Origin    read.Text `json:"origin"`
			URL       read.Text `json:"url"`
			Shortlink read.Text `json:"shortlink"`
			Name      read.Text `json:"rule_name"`
		} `json:"rule"`
		Source read.Text `json:"src"`
	} `json:"semgrep.dev"`
}

// servedVersion is the version of the rule's text that a server served; 0 if unknown.
type servedVersion int

// UnmarshalJSON implements json.Unmarshaler.
func (v *servedVersion) UnmarshalJSON(b []byte) error {
	var served struct {
		Version uint16 `json:"rule_version"`
	}
	read.Loosely(b, &served)
	*v = servedVersion(served.Version)
	return nil
}

// fixes is a list of objects with a member per package, whose value is one or more versions.
type fixes []model.Fix

// UnmarshalJSON implements json.Unmarshaler.
func (f *fixes) UnmarshalJSON(b []byte) error {
	var list []map[string]read.Texts
	read.Loosely(b, &list)
	for _, entry := range list[:min(len(list), read.MaxList)] {
		for _, name := range slices.Sorted(maps.Keys(entry)) {
			for _, version := range entry[name] {
				*f = append(*f, model.Fix{Package: read.Text(name).Name(), Version: read.Text(version).Name()})
			}
		}
	}
	return nil
}

// semgrepRule is a rule with its metadata.
type semgrepRule struct {
	*model.Rule
	meta semgrepMetadata
}

// idName returns the name of the rule in the scanner's ids. An earlier version of a rule runs under
// a different id in addition to the current one.
func (r *semgrepRule) idName() string {
	if r.meta.Dev.Source == "previous-scan" && r.meta.Dev.Rule.Name != "" {
		return string(r.meta.Dev.Rule.Name)
	}
	return r.Name
}

// Rule returns the rule of a result. Results with equal metadata share a rule, which is decoded
// once.
func (s *semgrep) Rule(m *semgrepResult) *semgrepRule {
	kind := byte('c')
	if m.Extra.SCA != nil {
		kind = 's'
	}
	proOnly := isProOnly(m.Extra.Engine)
	if proOnly {
		kind++
	}
	s.key = append(s.key[:0], kind, 0)
	s.key = append(s.key, m.CheckID...)
	s.key = append(append(s.key, 0), m.Extra.Severity...)
	s.key = append(append(s.key, 0), m.Extra.Metadata...)
	if known := s.rules[string(s.key)]; known != nil {
		return known
	}
	rule := &semgrepRule{}
	read.Loosely(m.Extra.Metadata, &rule.meta)
	rule.Rule = rule.meta.Rule(m.CheckID.Name(), m.Extra.Severity, m.Extra.SCA != nil)
	if rule.meta.Product != "" {
		s.secrets.Declared[rule.Rule] = true
	}
	rule.ProOnly = proOnly
	s.rules[string(s.key)] = rule
	s.rep.Rules = append(s.rep.Rules, rule.Rule)
	return rule
}

// Rule returns the rule without its message, because results contain only messages with inserted
// values.
func (md *semgrepMetadata) Rule(name string, severity read.Text, isSCA bool) *model.Rule {
	words := secrets.RuleTraits{
		Name: name, Product: md.Product, Category: md.Category, Technology: md.Technology, Tags: md.Tags,
	}
	r := &model.Rule{
		Name:      name,
		IssueType: model.SAST,
		Severity:  cmp.Or(format.SeverityOf(string(severity)), model.SeverityMedium),
		// The API has no value for an unknown confidence (docs/reference/requests.md).
		Confidence:           cmp.Or(format.ConfidenceOf(string(md.Confidence)), model.ConfidenceMedium),
		Category:             read.Text(md.Category.First()).Name(),
		Subcategories:        md.Subcategory.Names(),
		VulnerabilityClasses: md.Class.Names(),
		CWE:                  md.CWE.Names(),
		OWASP:                md.OWASP.Names(),
		Technologies:         md.Technology.Names(),
		References:           md.References.Names(),
		Rulesets:             append(md.Ruleset, md.Rulesets...).Names(),
		URL: cmp.Or(md.Dev.Rule.URL.Link(), md.Source.Link(), md.Dev.Rule.Shortlink.Link(),
			md.Shortlink.Link()),
		Origin:  originOf(string(md.Dev.Rule.Origin)),
		Mode:    md.mode(),
		Version: int(md.Served),
	}
	switch {
	case isSCA: // its findings have the severity of the vulnerability
		r.IssueType, r.Severity = model.SCA, cmp.Or(format.SeverityOf(string(md.SCASeverity)), r.Severity)
	case words.IsSecret():
		r.IssueType = model.Secrets
		r.SecretType = md.secretType()
	}
	return r
}

// mode returns the mode in dev.semgrep.actions, or 0 if it is absent.
func (md *semgrepMetadata) mode() model.PolicyMode {
	switch {
	case md.Actions == nil:
		return 0
	case slices.Contains(*md.Actions, "block"):
		return model.ModeBlock
	case slices.Contains(*md.Actions, "comment"):
		return model.ModeComment
	}
	return model.ModeMonitor
}

// secretType returns the kind of credential, or the first technology other than "secrets".
func (md *semgrepMetadata) secretType() string {
	if md.SecretType != "" {
		return md.SecretType.Name()
	}
	for _, technology := range md.Technology {
		if !strings.EqualFold(technology, "secrets") {
			return read.Text(technology).Name()
		}
	}
	return ""
}

// originOf returns the origin in a word such as pro_rules: pro, community, custom or "".
func originOf(word string) string {
	word = strings.ToLower(word)
	for _, origin := range []string{"pro", "community", "custom"} {
		if strings.HasPrefix(word, origin) {
			return origin
		}
	}
	return ""
}

// blocks reports whether the scanner fails a build because of the result. It depends on the state
// of a validated secret, otherwise on dev.semgrep.actions, whose absence blocks. A vulnerable
// dependency blocks only if it is reachable, and not if it is transitive and the rule is
// upgrade-only.
func (r *semgrepRule) blocks(m *semgrepResult, d *model.Vulnerable) bool {
	byActions := r.meta.Actions == nil || slices.Contains(*r.meta.Actions, "block")
	if d != nil {
		reached := d.Reachability == model.Reachable || d.Reachability == model.AlwaysReachable
		deep := r.meta.SCAKind == "upgrade-only" && d.Transitivity == model.Transitive
		return byActions && reached && !deep
	}
	state := map[read.Text]string{
		"CONFIRMED_VALID": "valid", "CONFIRMED_INVALID": "invalid", "VALIDATION_ERROR": "error",
	}[m.Extra.Validation]
	if state != "" {
		return r.meta.ValidationActions[state] == "block"
	}
	return byActions
}

// isProOnly parses an engine_kind: "OSS", "PRO", or PRO_REQUIRED with details.
func isProOnly(engine json.RawMessage) bool {
	return bytes.Contains(engine, []byte(`"PRO`))
}

// ServedRule returns the rule in a text that scanners receive, with the given product. The error is
// that of SemgrepRule.
func ServedRule(text []byte, product model.IssueType) (model.Rule, error) {
	content, err := SemgrepRule(text)
	if err != nil {
		return model.Rule{}, err
	}
	content.IssueType = product
	return *content, nil
}

// SemgrepRule parses a rule in semgrep's rule language, as JSON. It returns the rule as in results,
// with the message and languages that results do not contain.
func SemgrepRule(rule []byte) (*model.Rule, error) {
	var r struct {
		ID        read.Text       `json:"id"`
		Message   read.Text       `json:"message"`
		Severity  read.Text       `json:"severity"`
		Languages read.Texts      `json:"languages"`
		Metadata  semgrepMetadata `json:"metadata"`
		DependsOn json.RawMessage `json:"r2c-internal-project-depends-on"`
	}
	if err := json.Unmarshal(rule, &r); err != nil {
		return nil, fmt.Errorf("the rule does not decode: %w", err)
	}
	out := r.Metadata.Rule(r.ID.Name(), r.Severity, r.DependsOn != nil)
	out.Message, out.Languages = r.Message.Block(), r.Languages.Names()
	out.Version = 0 // its version is that of the source it was copied from
	blank := secrets.ByShape(redact.Finder{})
	secrets.Cleaner{ID: blank, Name: blank, Text: blank, Rules: map[*model.Rule]bool{}}.Rule(out)
	return out, nil
}
