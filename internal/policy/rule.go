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

// maxFile bounds a file of rules, in bytes.
const maxFile = 16 << 20

// Rule is a rule that a policy can take in.
type Rule struct {
	ID      string
	Product model.IssueType
	Text    []byte // JSON, without nulls, which scanners refuse
}

// Parse reads a file of Semgrep rules, YAML or JSON. It checks what the schema
// asks for, not whether patterns parse: only the scanner knows that. All faults
// come back at once as a *model.InvalidError, placed as rules[3].message.
func Parse(file []byte) ([]Rule, error) {
	rules, err := ParseValid(file)
	if err != nil {
		return nil, err
	}
	return rules, nil
}

// ParseValid is Parse, but returns the rules that have no faults beside the
// faults of the others.
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
		return nil, model.Invalid("rules", "the file holds no rules: it needs a list under the key rules")
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

// Renamed returns the rule under another id, or false where that is none.
func (r Rule) Renamed(id string) (Rule, bool) {
	var members map[string]any
	if !idPattern.MatchString(id) || id == InertID || json.Unmarshal(r.Text, &members) != nil {
		return r, false
	}
	members["id"] = id
	text, err := json.Marshal(members)
	return Rule{ID: id, Product: r.Product, Text: text}, err == nil
}

// written is how many bytes of text are in members, more or less, counted up to
// a limit: what a file names again and again is written out each time.
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

// Bounds of what is said of a file: how many faults, and how deep patterns nest that have any.
const (
	maxFaults  = 500
	maxNesting = 64
)

// checker gathers the faults of a file.
type checker struct {
	at      string
	faults  model.InvalidError // maxFaults of them, and one that says that there are more
	found   int                // faults in all
	seen    map[string]bool
	written int // bytes of the rules so far, with their anchors written out
}

func (c *checker) fault(member, format string, args ...any) {
	c.found++
	switch len(c.faults.Fields) {
	case maxFaults + 1:
		return
	case maxFaults:
		member, format, args = "id", "there are more faults than these %d", []any{maxFaults}
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
		c.fault("id", "the file is too large from here on: with its anchors written out it has more than %d bytes", maxFile)
		return Rule{}
	}
	members, _ = withoutNulls(members).(map[string]any)
	id, _ := members["id"].(string)
	switch {
	case !idPattern.MatchString(id):
		c.fault("id", "%.80q will not do: an id has letters, digits, dots, underscores and hyphens", id)
	case id == InertID:
		c.fault("id", "%s is a rule of the server's own", id)
	case c.seen[id]:
		c.fault("id", "%s is in the file twice", id)
	}
	c.seen[id] = true
	if message, _ := members["message"].(string); strings.TrimSpace(message) == "" {
		c.fault("message", "is needed: what is wrong, and what to do")
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

// patterns checks that the rule says what to look for.
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
		c.fault("pattern", "is needed, or one of patterns, pattern-either, pattern-regex, match, taint, join, %s, or "+
			"pattern-sources with pattern-sinks", dependsOn)
	case sources != sinks:
		c.fault("pattern-sources", "and pattern-sinks go together")
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

// withoutNulls drops members and elements that are null.
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
