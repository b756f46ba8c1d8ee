package reporttest

import (
	"encoding/json"
	"slices"
)

// Result is a result of semgrep. Zero fields have defaults.
type Result struct {
	Rule, Path  string
	Line        int            // default: 1
	Column      int            // default: 1
	EndColumn   int            // exclusive; default: Column plus the length of Code
	Offset, End int            // bytes from the start of the file; End defaults to Offset plus the columns
	Message     string         // default: "found"
	Code        string         // default: "requires login", as without a login
	Fingerprint string         // default: as Code
	Metadata    map[string]any // default: empty
	IsPro       bool
}

const requiresLogin = "requires login"

// json returns the result in the format of semgrep.
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

// Semgrep returns a semgrep JSON report of results. The scanned files are those of the results.
func Semgrep(results ...Result) []byte {
	scanned := []string{}
	for _, r := range results {
		scanned = append(scanned, r.Path)
	}
	slices.Sort(scanned)
	return SemgrepOf(slices.Compact(scanned), results...)
}

// SemgrepOf returns a semgrep JSON report of results, with the given scanned files.
func SemgrepOf(scanned []string, results ...Result) []byte {
	list := make([]any, len(results))
	for i, r := range results {
		list[i] = r.json()
	}
	text, err := json.Marshal(map[string]any{
		"version": "1.180.0", "results": list, "errors": []any{}, "paths": map[string]any{"scanned": scanned},
	})
	if err != nil {
		panic(err) // only invalid metadata of a test can fail
	}
	return text
}
