package policy

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/redoubt/redoubt/internal/model"
)

// maxFile is the maximum size of a file of rules in bytes.
const maxFile = 16 << 20

// Rule is a parsed rule for a policy.
type Rule struct {
	ID      string
	Product model.IssueType
	Text    []byte // JSON without null values, which scanners reject
}

// Parse parses a file of Semgrep rules in YAML or JSON. It checks the schema but not the syntax of
// patterns, which only the scanner can check. It returns all errors in a *model.InvalidError, with
// locations such as rules[3].message.
func Parse(file []byte) ([]Rule, error) {
	rules, err := ParseValid(file)
	if err != nil {
		return nil, err
	}
	return rules, nil
}

// ParseValid is like Parse, but also returns the valid rules if others have errors.
func ParseValid(file []byte) ([]Rule, error) {
	if len(file) > maxFile {
		return nil, fmt.Errorf("a file of rules has at most %d bytes: %w", maxFile, model.ErrTooLarge)
	}
	var document struct {
		Rules []map[string]any `yaml:"rules"`
	}
	if err := yaml.Unmarshal(file, &document); err != nil {
		return nil, model.Invalid("rules", "the file is not a list of rules in YAML: %v", err)
	}
	if len(document.Rules) == 0 {
		return nil, model.Invalid("rules", "the file has no rules: add a list under the key rules")
	}
	c := checker{seen: map[string]bool{}}
	var out []Rule
	for i, members := range document.Rules {
		c.at = fmt.Sprintf("rules[%d]", i)
		before := c.found
		if rule := c.rule(members); c.found == before {
			out = append(out, rule)
		}
	}
	if len(c.faults.Fields) > 0 {
		return out, &c.faults
	}
	return out, nil
}

// Renamed returns the rule with another ID, or false if the ID is invalid.
func (r Rule) Renamed(id string) (Rule, bool) {
	var members map[string]any
	if !idPattern.MatchString(id) || id == InertID || json.Unmarshal(r.Text, &members) != nil {
		return r, false
	}
	members["id"] = id
	text, err := json.Marshal(members)
	return Rule{ID: id, Product: r.Product, Text: text}, err == nil
}

// written returns the approximate size of the text in v, counted up to a limit. YAML aliases count
// each time, because they are expanded in the output.
func written(v any, limit int) (n int) {
	switch v := v.(type) {
	case string:
		return len(v)
	case map[string]any:
		for key, member := range v {
			if n += len(key) + 4 + written(member, limit-n); n > limit {
				break
			}
		}
	case []any:
		for _, element := range v {
			if n += 1 + written(element, limit-n); n > limit {
				break
			}
		}
	}
	return n
}

// Limits of reported errors and of the nesting of patterns.
const (
	maxFaults  = 500
	maxNesting = 64
)

// checker collects the errors of a file.
type checker struct {
	at      string
	faults  model.InvalidError // maxFaults errors, and one that reports further ones
	found   int                // total number of errors
	seen    map[string]bool
	written int // size of the rules so far in bytes, with YAML aliases expanded
}

func (c *checker) fault(member, format string, args ...any) {
	c.found++
	switch len(c.faults.Fields) {
	case maxFaults + 1:
		return
	case maxFaults:
		member, format, args = "id", "there are more than %d errors", []any{maxFaults}
	}
	c.faults.Fields = append(c.faults.Fields, model.FieldError{
		Location: c.at + "." + member,
		Message:  fmt.Sprintf(format, args...),
	})
}

var (
	idPattern  = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,512}$`)
	severities = []string{"INFO", "WARNING", "ERROR", "LOW", "MEDIUM", "HIGH", "CRITICAL", "EXPERIMENT", "INVENTORY"}
)

func (c *checker) rule(members map[string]any) Rule {
	if c.written += written(members, maxFile-c.written); c.written > maxFile {
		c.fault("id", "the file is too large from here: with expanded anchors it has more than %d bytes", maxFile)
		return Rule{}
	}
	members, _ = withoutNulls(members).(map[string]any)
	id, _ := members["id"].(string)
	switch {
	case !idPattern.MatchString(id):
		c.fault("id", "invalid id %.80q: use letters, digits, dots, underscores and hyphens", id)
	case id == InertID:
		c.fault("id", "%s is reserved for the server", id)
	case c.seen[id]:
		c.fault("id", "%s is duplicated in the file", id)
	}
	c.seen[id] = true
	if message, _ := members["message"].(string); strings.TrimSpace(message) == "" {
		c.fault("message", "is required: describe the problem and the fix")
	}
	if severity, _ := members["severity"].(string); !slices.Contains(severities, severity) {
		c.fault("severity", "must be one of %s", strings.Join(severities, ", "))
	}
	c.languages(members["languages"])
	c.patterns(members)
	c.shapes(members)
	text, err := json.Marshal(members)
	if err != nil {
		c.fault("id", "the rule cannot be written as JSON: %v", err)
	}
	return Rule{ID: id, Product: productOf(members), Text: text}
}

const dependsOn = "r2c-internal-project-depends-on"

// patterns checks that the rule has a pattern.
func (c *checker) patterns(members map[string]any) {
	found := 0
	for _, key := range []string{"pattern", "pattern-regex"} {
		if v, given := members[key]; given {
			found++
			if s, _ := v.(string); strings.TrimSpace(s) == "" {
				c.fault(key, "must be a text")
			}
		}
	}
	for _, key := range []string{"patterns", "pattern-either", "pattern-sources", "pattern-sinks"} {
		if v, given := members[key]; given {
			found++
			if list, _ := v.([]any); len(list) == 0 {
				c.fault(key, "must be a list of one pattern or more")
			}
		}
	}
	for _, key := range []string{"match", "taint", "join", dependsOn} {
		if v, given := members[key]; given {
			found++
			if _, isText := v.(string); isText && key != "match" {
				c.fault(key, "must be a mapping")
			}
		}
	}
	_, sources := members["pattern-sources"]
	_, sinks := members["pattern-sinks"]
	switch {
	case found == 0:
		c.fault("pattern", "is required, or one of patterns, pattern-either, pattern-regex, match, taint, join, %s, "+
			"or pattern-sources with pattern-sinks", dependsOn)
	case sources != sinks:
		c.fault("pattern-sources", "requires pattern-sinks, and vice versa")
	}
}

func productOf(members map[string]any) model.IssueType {
	if _, ok := members[dependsOn]; ok {
		return model.SCA
	}
	metadata, _ := members["metadata"].(map[string]any)
	if product, _ := metadata["product"].(string); strings.EqualFold(product, "secrets") {
		return model.Secrets
	}
	return model.SAST
}

// withoutNulls removes null members and elements.
func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, member := range v {
			if member != nil {
				out[key] = withoutNulls(member)
			}
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, element := range v {
			if element != nil {
				out = append(out, withoutNulls(element))
			}
		}
		return out
	}
	return v
}
