package model

import (
	"bytes"
	"encoding/json"
)

// Body contains the members of a finding's JSON that only scans change, in the contract's dialect.
// It is encoded once, when written, and not parsed for lists. BodyMessage requires that the message
// comes first.
type Body struct {
	RuleMessage   *string      `json:"rule_message"`
	Location      WireLocation `json:"location"`
	LineOfCodeURL string       `json:"line_of_code_url"`
	MatchBasedID  string       `json:"match_based_id"`
	SyntacticID   string       `json:"syntactic_id"`

	*SCABody // supply chain only
}

// SCABody contains the additional members of a supply-chain finding.
type SCABody struct {
	FixRecommendations      []Fix           `json:"fix_recommendations"`
	FoundDependency         FoundDependency `json:"found_dependency"`
	IsMalicious             bool            `json:"is_malicious"`
	ReachableCondition      *string         `json:"reachable_condition"`
	Usage                   *Usage          `json:"usage"`
	Unrated                 bool            `json:"severity_unrated,omitempty"`
	VulnerabilityIdentifier *string         `json:"vulnerability_identifier"`
}

// Evidence contains the data that pages show for a finding. It is stored as JSON.
type Evidence struct {
	Code     string     `json:"code,omitempty"` // empty for secrets
	DataFlow []FlowStep `json:"data_flow,omitempty"`
	Commit   string     `json:"commit,omitempty"` // commit with a historical secret
	Blocking bool       `json:"blocking,omitempty"`
}

// WireLocation is the contract's Location object.
type WireLocation struct {
	Column    int    `json:"column"`
	EndColumn int    `json:"endColumn"`
	EndLine   int    `json:"endLine"`
	FilePath  string `json:"filePath"`
	Line      int    `json:"line"`
}

// FoundDependency is the contract's found_dependency object.
type FoundDependency struct {
	Ecosystem       string  `json:"ecosystem"`
	LockfileLineURL *string `json:"lockfile_line_url"`
	Package         string  `json:"package"`
	Transitivity    string  `json:"transitivity"`
	Version         string  `json:"version"`
}

// Usage is the location where code uses a vulnerable package. The stored ticket is null. The index
// inserts the ticket of the finding, which is linked after the body is written.
type Usage struct {
	ExternalTicket *ExternalTicket `json:"external_ticket"`
	Location       WireLocation    `json:"location"`
}

// Members returns the JSON members without the surrounding braces.
func (b Body) Members() ([]byte, error) { return members(b) }

// BodyMessage returns the value of rule_message in a result of Body.Members: a quoted JSON string,
// or nil if there is none.
func BodyMessage(members []byte) []byte {
	value, ok := bytes.CutPrefix(members, []byte(`"rule_message":`))
	if !ok || len(value) == 0 || value[0] != '"' {
		return nil
	}
	for at := 1; ; at++ {
		quote := bytes.IndexByte(value[at:], '"')
		if quote < 0 {
			return nil
		}
		at += quote
		escapes := 0
		for value[at-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return value[:at+1]
		}
	}
}

// BodyVulnerability returns the value of vulnerability_identifier in a result of Body.Members,
// where it is the last member. It returns "" if there is none.
func BodyVulnerability(members []byte) string {
	at := bytes.LastIndex(members, []byte(`,"vulnerability_identifier":"`))
	if at < 0 {
		return ""
	}
	var name string
	if json.Unmarshal(members[at+len(`,"vulnerability_identifier":`):], &name) != nil {
		return ""
	}
	return name
}

// BodyUnrated reports whether a result of Body.Members states that the vulnerability is unrated.
// Texts cannot match, because their quotes are escaped.
func BodyUnrated(members []byte) bool {
	return bytes.Contains(members, []byte(`,"severity_unrated":true,"vulnerability_identifier":`))
}

// BodyFixable reports whether a result of Body.Members contains a version that fixes the
// vulnerability. Texts cannot match, because their quotes are escaped.
func BodyFixable(members []byte) bool {
	return bytes.Contains(members, []byte(`"fix_recommendations":[{`))
}

// RateBody returns a result of Body.Members without the statement that the vulnerability is
// unrated.
func RateBody(members []byte) []byte {
	return bytes.Replace(members,
		[]byte(`,"severity_unrated":true,"vulnerability_identifier":`), []byte(`,"vulnerability_identifier":`), 1)
}

func members(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	// Cloned, because the buffer may be twice as large, and an upload has many thousands of bodies.
	return bytes.Clone(bytes.TrimSuffix(bytes.TrimPrefix(bytes.TrimSpace(buf.Bytes()), []byte("{")), []byte("}"))), nil
}

// ruleSummary is the contract's Rule summary without the message, which is last. If the rule has no
// message, the message of the finding is used.
type ruleSummary struct {
	Category             string   `json:"category"`
	Confidence           string   `json:"confidence"`
	CWENames             []string `json:"cweNames"`
	Name                 string   `json:"name"`
	OWASPNames           []string `json:"owaspNames"`
	Subcategories        []string `json:"subcategories"`
	VulnerabilityClasses []string `json:"vulnerabilityClasses"`
}

// Members returns the rule's members of a finding's JSON: categories, rule_name and rule. The
// caller must append the rule's message and the closing brace.
func (r Rule) Members() ([]byte, error) {
	summary := ruleSummary{
		Category: r.Category, Confidence: r.Confidence.String(), Name: r.Name,
		CWENames: list(r.CWE), OWASPNames: list(r.OWASP),
		Subcategories: list(r.Subcategories), VulnerabilityClasses: list(r.VulnerabilityClasses),
	}
	out, err := members(struct {
		Categories []string    `json:"categories"`
		RuleName   string      `json:"rule_name"`
		Rule       ruleSummary `json:"rule"`
	}{r.Categories(), r.Name, summary})
	if err != nil {
		return nil, err
	}
	return append(bytes.TrimSuffix(out, []byte("}")), `,"message":`...), nil
}

func list(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
