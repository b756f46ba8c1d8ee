package conformance

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// filter is a parameter, some of its values, and the condition that a value must implement.
type filter[R any] struct {
	param   string
	values  []string
	matches func(w *world, row R, value string) bool
}

// choice is a set of filters with one value each.
type choice[R any] []struct {
	filter[R]
	value string
}

// query returns the query of the choice. Several values of one parameter are alternatives.
func (c choice[R]) query(issueType string) api.FindingsQuery {
	q := api.FindingsQuery{IssueType: issueType, PageSize: 3000}
	for _, one := range c {
		findingsParam[one.param](&q, one.value)
	}
	return q
}

// matches applies the choice to a row: alternatives within a parameter, all parameters combined.
func (c choice[R]) matches(w *world, row R) bool {
	passed := map[string]bool{}
	for _, one := range c {
		passed[one.param] = passed[one.param] || one.matches(w, row, one.value)
	}
	for _, ok := range passed {
		if !ok {
			return false
		}
	}
	return true
}

// choose returns a choice of values of one filter.
func (f filter[R]) choose(values ...string) choice[R] {
	var out choice[R]
	for _, v := range values {
		out = append(out, struct {
			filter[R]
			value string
		}{f, v})
	}
	return out
}

// equals returns a condition that a member equals the value.
func equals[R any](member func(R) string) func(*world, R, string) bool {
	return func(_ *world, row R, value string) bool { return member(row) == value }
}

// contains returns a condition that a list contains the value.
func contains[R any](member func(R) []string) func(*world, R, string) bool {
	return func(_ *world, row R, value string) bool { return slices.Contains(member(row), value) }
}

var (
	statuses   = []string{"open", "fixed", "ignored", "reviewing", "fixing"}
	reasons    = []string{"acceptable_risk", "false_positive", "no_time", "no_triage_reason"}
	severities = []string{"low", "medium", "high", "critical"}
	boards     = []string{"rule-board-audit", "rule-board-pr-comments", "rule-board-block"}
)

// coreFilters are the filters of both code and supply-chain findings.
func coreFilters[R any](w *world, core func(R) *api.FindingCore) []filter[R] {
	return []filter[R]{
		{"repos", []string{"ACME/Payments", "mixed/case", "acme/managed-scan"}, func(_ *world, r R, v string) bool { return strings.EqualFold(core(r).Repository.Name, v) }},
		{"repository_ids", mapped(w.projects[:3], func(p api.Project) string { return strconv.FormatInt(p.ID, 10) }), func(w *world, r R, v string) bool {
			return strconv.FormatInt(w.projectID(core(r).Repository.Name), 10) == v
		}},
		{"status", statuses, equals(func(r R) string { return core(r).Status })},
		{"triage_reasons", reasons, equals(func(r R) string { return deref(core(r).TriageReason) })},
		{"severities", severities, equals(func(r R) string { return core(r).Severity })},
		{"ref", []string{"main", "refs/heads/feature/x", "refs/pull/7/merge"}, func(_ *world, r R, v string) bool { return core(r).Ref == model.FullRef(v) }},
		{"click_to_fix_pr_state", []string{"open", "merged"}, func(w *world, r R, v string) bool {
			prs, _ := w.notes[lineage(core(r))]["click_to_fix_prs"].([]object)
			return slices.ContainsFunc(prs, func(pr object) bool { return pr["state"] == v })
		}},
		{"component_tags", []string{"authentication", "payments"}, func(w *world, r R, v string) bool {
			assistant, _ := w.notes[lineage(core(r))]["assistant"].(object)
			component, _ := assistant["component"].(object)
			return component["tag"] == v
		}},
		{"since", []string{seconds(storetest.Epoch.Add(40 * time.Second).UnixMicro())}, func(_ *world, r R, v string) bool {
			return seconds(core(r).RelevantSince.UnixMicro()) >= v // text of equal length
		}},
	}
}

// seconds formats microseconds as epoch seconds.
func seconds(micros int64) string { return fmt.Sprintf("%d.%06d", micros/1e6, micros%1e6) }

func codeCore(r codeRow) *api.FindingCore     { return &r.FindingCore }
func supplyCore(r supplyRow) *api.FindingCore { return &r.FindingCore }
func secretCore(r secretRow) *api.FindingCore { return &r.FindingCore }

func codeFilters(w *world) []filter[codeRow] {
	return append(coreFilters(w, codeCore),
		filter[codeRow]{"policies", boards, func(w *world, r codeRow, v string) bool { return w.mode(r.RuleName) == boardMode[v] }},
		filter[codeRow]{"rules", []string{"python.lang.rule-04", "python.lang.rule-09", "python.lang.rule-21"}, equals(func(r codeRow) string { return r.RuleName })},
		filter[codeRow]{"categories", []string{"security", "best-practice"}, contains(func(r codeRow) []string { return r.Categories })},
		filter[codeRow]{"confidence", []string{"low", "medium", "high"}, equals(func(r codeRow) string { return r.Confidence })},
		filter[codeRow]{"autotriage_verdict", []string{"true_positive", "false_positive"}, equals(verdict)},
	)
}

func supplyFilters(w *world) []filter[supplyRow] {
	return append(coreFilters(w, supplyCore),
		filter[supplyRow]{"exposures", []string{"reachable", "always_reachable", "conditionally_reachable", "unreachable", "unknown"}, equals(func(r supplyRow) string { return r.Reachability })},
		filter[supplyRow]{"transitivities", passages, equals(func(r supplyRow) string { return r.FoundDependency.Transitivity })},
		filter[supplyRow]{"is_malicious", []string{"true", "false"}, equals(func(r supplyRow) string { return fmt.Sprint(r.IsMalicious) })},
	)
}

var boardMode = map[string]string{"rule-board-audit": "monitor", "rule-board-pr-comments": "comment", "rule-board-block": "block"}

// mode returns the mode of a rule as its report sets it; the default is monitor.
func (w *world) mode(rule string) string {
	if mode := w.rules[rule].mode; mode != "" {
		return mode
	}
	return "monitor"
}

func (w *world) projectID(name string) int64 {
	for _, p := range w.projects {
		if p.Name == name {
			return p.ID
		}
	}
	return 0
}

func (w *world) project(name string) api.Project {
	for _, p := range w.projects {
		if p.Name == name {
			return p
		}
	}
	return api.Project{}
}

func verdict(r codeRow) string {
	if r.Assistant == nil || r.Assistant.Autotriage == nil {
		return ""
	}
	return r.Assistant.Autotriage.Verdict
}

// deref returns the value of a pointer, or the zero value for nil.
func deref[T any](p *T) T {
	var zero T
	if p == nil {
		return zero
	}
	return *p
}

// findingsParam sets a value in the client's query.
var findingsParam = map[string]func(q *api.FindingsQuery, value string){
	"issue_type":            func(q *api.FindingsQuery, v string) { q.IssueType = v },
	"since":                 func(q *api.FindingsQuery, v string) { q.Since, _ = strconv.ParseFloat(v, 64) },
	"repos":                 func(q *api.FindingsQuery, v string) { q.Repos = append(q.Repos, v) },
	"repository_ids":        func(q *api.FindingsQuery, v string) { q.RepositoryIDs = append(q.RepositoryIDs, integer(v)) },
	"status":                func(q *api.FindingsQuery, v string) { q.Status = append(q.Status, v) },
	"triage_reasons":        func(q *api.FindingsQuery, v string) { q.TriageReasons = append(q.TriageReasons, v) },
	"severities":            func(q *api.FindingsQuery, v string) { q.Severities = append(q.Severities, v) },
	"ref":                   func(q *api.FindingsQuery, v string) { q.Ref = v },
	"policies":              func(q *api.FindingsQuery, v string) { q.Policies = append(q.Policies, v) },
	"rules":                 func(q *api.FindingsQuery, v string) { q.Rules = append(q.Rules, v) },
	"categories":            func(q *api.FindingsQuery, v string) { q.Categories = append(q.Categories, v) },
	"confidence":            func(q *api.FindingsQuery, v string) { q.Confidence = append(q.Confidence, v) },
	"autotriage_verdict":    func(q *api.FindingsQuery, v string) { q.AutotriageVerdict = v },
	"component_tags":        func(q *api.FindingsQuery, v string) { q.ComponentTags = append(q.ComponentTags, v) },
	"exposures":             func(q *api.FindingsQuery, v string) { q.Exposures = append(q.Exposures, v) },
	"transitivities":        func(q *api.FindingsQuery, v string) { q.Transitivities = append(q.Transitivities, v) },
	"is_malicious":          func(q *api.FindingsQuery, v string) { q.IsMalicious = api.Some(v == "true") },
	"click_to_fix_pr_state": func(q *api.FindingsQuery, v string) { q.ClickToFixPRStates = append(q.ClickToFixPRStates, v) },
}

func integer(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}
