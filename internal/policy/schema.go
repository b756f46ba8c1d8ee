package policy

import (
	"fmt"
	"slices"
	"strings"
)

// knownLanguages contains the scanner's names of languages.
var knownLanguages = strings.Fields(`
	aliengrep apex bash c c# c++ cairo circom clojure cpp csharp dart docker dockerfile elixir ex fga generic go
	golang gosu hack hcl html java javascript js json jsonnet julia kotlin kt lisp lua move_on_aptos move_on_sui
	none ocaml openfga php powershell promql proto proto3 protobuf py python python2 python3 r regex ruby rust scala
	scheme sh sol solidity spacegrep swift terraform tf ts typescript vue xml yaml
`)

var knownModes = []string{"search", "taint", "join", "extract"}

// operators contains the valid operators in a list of patterns. The scanner aborts at an unknown
// operator but ignores unknown members of a rule.
var operators = []string{
	"pattern", "patterns", "pattern-either", "pattern-inside", "pattern-not",
	"pattern-not-inside", "pattern-regex", "pattern-not-regex",
	"pattern-where-python", "focus-metavariable", "metavariable-analysis",
	"metavariable-comparison", "metavariable-name", "metavariable-pattern",
	"metavariable-regex", "metavariable-type", "semgrep-internal-metavariable-name", "semgrep-internal-pattern-anywhere",
}

func (c *checker) languages(v any) {
	list, _ := v.([]any)
	for _, language := range list {
		name, ok := language.(string)
		if !ok {
			list = nil
			break
		}
		if !slices.Contains(knownLanguages, strings.ToLower(name)) {
			c.fault("languages", "unknown language %.80q", name)
		}
	}
	if len(list) == 0 {
		c.fault("languages", "must be a list of one language or more")
	}
}

// shapes checks the types of members for which the scanner would abort.
func (c *checker) shapes(members map[string]any) {
	if mode, given := members["mode"]; given {
		if word, _ := mode.(string); !slices.Contains(knownModes, word) {
			c.fault("mode", "must be one of %s", strings.Join(knownModes, ", "))
		}
	}
	for _, key := range []string{"metadata", "options", "paths", "fix-regex"} {
		if v, given := members[key]; given {
			if _, ok := v.(map[string]any); !ok {
				c.fault(key, "must be a mapping with text keys")
			}
		}
	}
	if paths, ok := members["paths"].(map[string]any); ok {
		for key, globs := range paths {
			if key != "include" && key != "exclude" || !isTexts(globs) {
				c.fault("paths", "must have only lists of globs under include and exclude")
				break
			}
		}
	}
	for _, key := range []string{"fix", "min-version", "max-version"} {
		if v, given := members[key]; given {
			if _, ok := v.(string); !ok {
				c.fault(key, "must be a text")
			}
		}
	}
	for _, key := range []string{"patterns", "pattern-either"} {
		c.operators(key, members[key], 0)
	}
	for _, key := range []string{"pattern-sources", "pattern-sinks", "pattern-sanitizers"} {
		list, _ := members[key].([]any)
		for i, element := range list {
			of, _ := element.(map[string]any)
			for _, inner := range []string{"patterns", "pattern-either"} {
				c.operators(fmt.Sprintf("%s[%d].%s", key, i, inner), of[inner], 0)
			}
		}
	}
}

func isTexts(v any) bool {
	list, ok := v.([]any)
	return ok && !slices.ContainsFunc(list, func(e any) bool { _, text := e.(string); return !text })
}

// operators checks a list of patterns and those nested in it. depth is its nesting depth.
func (c *checker) operators(at string, v any, depth int) {
	list, _ := v.([]any)
	if depth == maxNesting && len(list) > 0 {
		c.fault(at, "patterns nest at most %d deep", maxNesting)
		return
	}
	for i, element := range list {
		path := fmt.Sprintf("%s[%d]", at, i)
		of, ok := element.(map[string]any)
		if !ok || len(of) == 0 {
			c.fault(path, "must be a mapping of an operator, such as pattern")
			continue
		}
		for key, below := range of {
			if !slices.Contains(operators, key) {
				c.fault(path, "unknown operator %.80q", key)
			}
			if key == "focus-metavariable" {
				if _, text := below.(string); !text && !isTexts(below) {
					c.fault(path+"."+key, "must be a metavariable, such as $X, or a list of metavariables")
				}
				continue
			}
			c.operators(path+"."+key, below, depth+1)
		}
	}
}
