package reporttest

import (
	"encoding/json"
	"slices"
)

// Result is a result of semgrep. Zero members have a default.
type Result struct {
	Rule, Path  string
	Line        int            // from 1, which is the default
	Column      int            // from 1, which is the default
	EndColumn   int            // behind the last character; Column and the length of Code by default
	Offset, End int            // bytes from the beginning of the file; End follows Offset by the columns by default
	Message     string         // "found" by default
	Code        string         // "requires login" by default, as without a login
	Fingerprint string         // as Code
	Metadata    map[string]any // empty by default
	IsPro       bool
}

const requiresLogin = "requires login"

// json returns the result as semgrep writes it.
func (r Result) json() map[string]any {
	orElse(&r.Line, 1)
	orElse(&r.Column, 1)
	orElse(&r.EndColumn, r.Column+max(len(r.Code), 1))
	orElse(&r.End, r.Offset+r.EndColumn-r.Column)
	orElse(&r.Message, "found")
	orElse(&r.Code, requiresLogin)
	orElse(&r.Fingerprint, requiresLogin)
	if r.Metadata == nil {
		r.Metadata = map[string]any{}
	}
	engine := "OSS"
	if r.IsPro {
		engine = "PRO"
	}
	return map[string]any{
		"check_id": r.Rule, "path": r.Path,
		"start": map[string]int{"line": r.Line, "col": r.Column, "offset": r.Offset},
		"end":   map[string]int{"line": r.Line, "col": r.EndColumn, "offset": r.End},
		"extra": map[string]any{
			"message": r.Message, "severity": "ERROR", "metadata": r.Metadata, "lines": r.Code, "fingerprint": r.Fingerprint,
			"is_ignored": false, "engine_kind": engine,
		},
	}
}

func orElse[T comparable](value *T, other T) {
	var zero T
	if *value == zero {
		*value = other
	}
}

// Semgrep returns what semgrep --json writes of results in the files that they are in.
func Semgrep(results ...Result) []byte {
	scanned := []string{}
	for _, r := range results {
		scanned = append(scanned, r.Path)
	}
	slices.Sort(scanned)
	return SemgrepOf(slices.Compact(scanned), results...)
}

// SemgrepOf returns what semgrep --json writes of results. It looked into the scanned files alone.
func SemgrepOf(scanned []string, results ...Result) []byte {
	list := make([]any, len(results))
	for i, r := range results {
		list[i] = r.json()
	}
	text, err := json.Marshal(map[string]any{
		"version": "1.180.0", "results": list, "errors": []any{}, "paths": map[string]any{"scanned": scanned},
	})
	if err != nil {
		panic(err) // texts and numbers only, but for what a test gives as metadata
	}
	return text
}
