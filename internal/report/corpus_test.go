package report

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// ordinaryTexts returns the messages, help and code of real reports, and the messages of our own
// rules.
func ordinaryTexts(tb testing.TB) []string {
	tb.Helper()
	var texts []string
	for _, name := range []string{"real/bandit", "real/gosec-suppressed", "real/checkov", "real/njsscan", "real/eslint", "real/semgrep-muted", "sarif/codeql"} {
		data, err := os.ReadFile(filepath.Join("testdata", name+".sarif"))
		if err != nil {
			tb.Fatal(err)
		}
		var document any
		if err := json.Unmarshal(data, &document); err != nil {
			tb.Fatal(err)
		}
		texts = appendTexts(texts, document)
	}
	rules, err := filepath.Glob("../policy/starter/rules/*.yaml")
	if err != nil || len(rules) == 0 {
		tb.Fatalf("no rules: %v", err)
	}
	message := regexp.MustCompile(`message: >-\n((?: {6}.*\n)+)`)
	for _, name := range rules {
		data, err := os.ReadFile(name)
		if err != nil {
			tb.Fatal(err)
		}
		for _, m := range message.FindAllSubmatch(data, -1) {
			texts = append(texts, strings.Join(strings.Fields(string(m[1])), " "))
		}
	}
	slices.Sort(texts)
	texts = slices.Compact(texts)
	if len(texts) < 100 {
		tb.Fatalf("%d texts", len(texts))
	}
	return texts
}

// appendTexts appends the members named text of a document.
func appendTexts(texts []string, v any) []string {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if text, ok := member.(string); ok && name == "text" {
				texts = append(texts, text)
			}
			texts = appendTexts(texts, member)
		}
	case []any:
		for _, element := range v {
			texts = appendTexts(texts, element)
		}
	}
	return texts
}

// speakingOfSecrets replaces each tenth word of texts with a word about secrets.
func speakingOfSecrets(texts []string) []string {
	words := []string{"token", "session", "cookie", "password", "secret", "api_key", "tokens", "credentials"}
	out, n := make([]string, len(texts)), 0
	for i, text := range texts {
		parts := strings.SplitAfter(text, " ")
		for k := range parts {
			if n++; n%10 == 0 {
				parts[k] = words[n/10%len(words)] + " "
			}
		}
		out[i] = strings.Join(parts, "")
	}
	return out
}
