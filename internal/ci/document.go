package ci

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
)

// reviewFindings returns the findings shown to reviewers: blocking ones, those that conditions
// comment on, and new ones, in this order.
func (o *Outcome) reviewFindings() (list []Finding, blocking int) {
	seen := map[int64]bool{}
	for _, part := range [][]Finding{o.Blocking, o.commentFindings(), o.New} {
		for _, f := range part {
			if !seen[f.ID] || f.ID == 0 {
				seen[f.ID] = true
				list = append(list, f)
			}
		}
	}
	return list, min(len(o.Blocking), len(list))
}

// reviewText returns the text about a finding for reviewers.
func (f Finding) reviewText() string {
	if f.Text != "" {
		return f.Text + ": " + f.URL
	}
	return f.Rule + ": " + f.URL
}

// CodeQuality returns the report that GitLab shows in merge requests.
func (o *Outcome) CodeQuality() ([]byte, error) {
	type lines struct {
		Begin int `json:"begin"`
	}
	type location struct {
		Path  string `json:"path"`
		Lines lines  `json:"lines"`
	}
	type issue struct {
		Description string   `json:"description"`
		CheckName   string   `json:"check_name"`
		Fingerprint string   `json:"fingerprint"`
		Severity    string   `json:"severity"`
		Location    location `json:"location"`
	}
	issues := []issue{}
	list, blocking := o.reviewFindings()
	for i, f := range list {
		severity := "major"
		if i < blocking {
			severity = "blocker"
		}
		issues = append(issues, issue{
			Description: f.reviewText(), CheckName: f.Rule, Fingerprint: fmt.Sprintf("redoubt-%s-%d", o.Deployment, f.ID),
			Severity: severity, Location: location{f.Path, lines{max(f.Line, 1)}},
		})
	}
	return json.MarshalIndent(issues, "", "  ")
}

// Dotenv returns variables for later jobs.
func (o *Outcome) Dotenv() []byte {
	return fmt.Appendf(nil,
		"REDOUBT_BLOCKED=%t\nREDOUBT_NEW=%d\nREDOUBT_FIXED=%d\nREDOUBT_BLOCKING=%d\nREDOUBT_URL_FINDINGS=%s\n",
		o.Blocked, len(o.New), len(o.Fixed), len(o.Blocking), singleLine(o.URL))
}

// SARIF returns new and blocking findings as SARIF 2.1.0. Blocking findings are errors.
func (o *Outcome) SARIF(version string) ([]byte, error) {
	type object = map[string]any
	rules, results, known := []object{}, []object{}, map[string]int{}
	list, blocking := o.reviewFindings()
	for i, f := range list {
		at, ok := known[f.Rule]
		if !ok {
			at = len(rules)
			known[f.Rule] = at
			rules = append(rules, object{"id": f.Rule, "name": f.Rule})
		}
		level := "warning"
		if i < blocking {
			level = "error"
		}
		location := object{"artifactLocation": object{"uri": (&url.URL{Path: strings.TrimPrefix(f.Path, "/")}).String()}}
		if f.Line > 0 {
			location["region"] = object{"startLine": f.Line}
		}
		results = append(results, object{
			"ruleId": f.Rule, "ruleIndex": at, "level": level,
			"message": object{"text": f.reviewText()}, "hostedViewerUri": f.URL,
			"locations":           []object{{"physicalLocation": location}},
			"partialFingerprints": object{"redoubtFindingId/v1": fmt.Sprint(f.ID)},
		})
	}
	return json.MarshalIndent(object{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []object{{
			"tool":    object{"driver": object{"name": "Redoubt", "version": version, "rules": rules}},
			"results": results,
		}},
	}, "", "  ")
}
