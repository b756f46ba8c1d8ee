package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
)

// object is a JSON object under construction.
type object = map[string]any

// scanRule is a rule in a scanner's report.
type scanRule struct {
	name       string
	kind       string // sast, sca or secrets
	severity   string // in the scanner's spelling
	confidence string
	category   string
	mode       string // monitor, comment or block; empty if the report has none
	ruleset    string
	origin     string
	pro        bool
	secretType string
	scaKind    string
	vulnerable string // identifier
}

func (r scanRule) metadata() object {
	m := object{
		"confidence": r.confidence, "semgrep.ruleset": r.ruleset,
		"cwe": []string{"CWE-95: Eval Injection"}, "owasp": "A03:2021 - Injection", "subcategory": []string{"vuln"},
		"technology": []string{"python"}, "vulnerability_class": []string{"Code Injection"}, "source": "https://rules.example.com/" + r.name,
		"semgrep.dev": object{"rule": object{"origin": r.origin}},
	}
	if r.category != "" {
		m["category"] = r.category
	}
	switch r.mode {
	case "monitor":
		m["dev.semgrep.actions"] = []string{}
	case "comment", "block":
		m["dev.semgrep.actions"] = []string{r.mode}
	}
	switch r.kind {
	case "secrets":
		m["product"], m["secret_type"] = "secrets", r.secretType
	case "sca":
		m["sca-kind"], m["sca-severity"], m["sca-vuln-database-identifier"] = r.scaKind, r.severity, r.vulnerable
		m["sca-fix-versions"] = []object{{"left-pad": "1.3.0"}}
	}
	return m
}

// match is one result of a rule.
type match struct {
	rule        scanRule
	path        string
	line        int
	fingerprint string
	muted       bool
	dependency  *dependency
	secret      *secret
}

// dependency is the package of a match.
type dependency struct {
	ecosystem, name, version, transitivity, lockfile string
	reachable                                        bool
	undetermined                                     bool
}

// secret is the secret of a match.
type secret struct {
	text       string
	validation string
	commit     string // in the history only
}

func (m match) json() object {
	extra := object{
		"message": "Found by " + m.rule.name, "severity": m.rule.severity, "metadata": m.rule.metadata(),
		"fingerprint": m.fingerprint, "lines": fmt.Sprintf("eval(%q)", m.fingerprint), "is_ignored": m.muted, "engine_kind": "OSS",
	}
	if m.rule.pro {
		extra["engine_kind"] = "PRO"
	}
	if d := m.dependency; d != nil {
		extra["sca_info"] = d.json()
	}
	if s := m.secret; s != nil {
		extra["lines"], extra["validation_state"] = fmt.Sprintf("key = %q", s.text), s.validation
		extra["message"] = "The key " + s.text + " is in the code"
		if s.commit != "" {
			extra["historical_info"] = object{"git_commit": s.commit, "git_timestamp": "2025-12-01T00:00:00Z"}
		}
	}
	return object{
		"check_id": m.rule.name, "path": m.path, "extra": extra,
		"start": object{"line": m.line, "col": 1, "offset": 0}, "end": object{"line": m.line, "col": 80, "offset": 79},
	}
}

func (d dependency) json() object {
	kind := any("Found")
	if d.undetermined {
		kind = []any{"TransitiveUndetermined", object{}}
	}
	return object{
		"reachable": d.reachable, "sca_finding_schema": 20220913, "reachability_rule": d.reachable, "kind": kind,
		"dependency_match": object{
			"lockfile":           d.lockfile,
			"dependency_pattern": object{"ecosystem": d.ecosystem, "package": d.name, "semver_range": "< 99"},
			"found_dependency": object{
				"package": d.name, "version": d.version, "ecosystem": d.ecosystem, "transitivity": d.transitivity,
				"allowed_hashes": object{}, "lockfile_path": d.lockfile, "line_number": 7,
			},
		},
	}
}

// semgrepReport returns the output of semgrep --json for the matches.
func semgrepReport(matches ...match) []byte {
	results, scanned := []object{}, []string{}
	for _, m := range matches {
		results = append(results, m.json())
		scanned = append(scanned, m.path)
	}
	slices.Sort(scanned)
	text, err := json.Marshal(object{
		"version": "1.180.0", "results": results, "errors": []object{}, "paths": object{"scanned": slices.Compact(scanned)},
	})
	if err != nil {
		panic(err) // strings and numbers only
	}
	return text
}

// sarifReport returns the report of another scanner for matches of code rules.
func sarifReport(tool string, matches ...match) []byte {
	results := []object{}
	for _, m := range matches {
		results = append(results, object{
			"ruleId": "B-" + m.rule.name, "level": "warning", "message": object{"text": "Found by " + m.rule.name},
			"partialFingerprints": object{"primaryLocationLineHash": m.fingerprint},
			"locations": []object{{"physicalLocation": object{
				"artifactLocation": object{"uri": m.path}, "region": object{"startLine": m.line, "startColumn": 1},
			}}},
		})
	}
	text, err := json.Marshal(object{"version": "2.1.0", "runs": []object{{
		"tool": object{"driver": object{"name": tool, "version": "1.0.0"}}, "results": results,
	}}})
	if err != nil {
		panic(err) // strings and numbers only
	}
	return text
}
