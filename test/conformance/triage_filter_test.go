package conformance

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
)

// selection contains the findings of one type that bulk triage can select.
type selection[R any] struct {
	issueType string
	rows      []R
	core      func(R) *api.FindingCore
	filters   []filter[R]
}

func codeSelection(w *world) selection[codeRow] {
	own := filter[codeRow]{"pro_only", []string{"true", "false"}, func(w *world, r codeRow, v string) bool { return w.rules[r.RuleName].pro == (v == "true") }}
	return selection[codeRow]{"sast", w.code, codeCore, append(triageFilters(w, "sast", codeCore), own)}
}

func supplySelection(w *world) selection[supplyRow] {
	band := func(r supplyRow) string { return epssBand(r.EPSSScore) }
	return selection[supplyRow]{"sca", w.supply, supplyCore, append(triageFilters(w, "sca", supplyCore),
		filter[supplyRow]{"dependencies", []string{"lodash", "left-pad"}, equals(func(r supplyRow) string { return r.FoundDependency.Package })},
		filter[supplyRow]{"epss_probability", []string{"high", "medium", "low", "none"}, equals(band)},
		filter[supplyRow]{"exposures", []string{"reachable", "always_reachable", "conditionally_reachable", "unreachable", "unknown"}, equals(func(r supplyRow) string { return r.Reachability })},
		filter[supplyRow]{"transitivities", passages, equals(func(r supplyRow) string { return r.FoundDependency.Transitivity })},
	)}
}

func secretSelection(w *world) selection[secretRow] {
	return selection[secretRow]{"secrets", w.secrets, secretCore, append(triageFilters(w, "secrets", secretCore),
		filter[secretRow]{"include_historical", []string{"false"}, func(_ *world, r secretRow, _ string) bool { return !*r.Historical }},
		filter[secretRow]{"repository_visibility", []string{"public", "private"}, func(w *world, r secretRow, v string) bool { return w.project(r.Repository.Name).Visibility == v }},
		filter[secretRow]{"secret_types", secretTypes, equals(func(r secretRow) string { return deref(r.SecretType) })},
		filter[secretRow]{"validation_state", []string{"valid", "invalid", "confirmed_valid", "confirmed_invalid", "validation_error", "no_validator"}, func(_ *world, r secretRow, v string) bool {
			return r.ValidationState == v || r.ValidationState == "confirmed_"+v
		}},
	)}
}

// triageFilters are the filters of all types.
func triageFilters[R any](w *world, issueType string, core func(R) *api.FindingCore) []filter[R] {
	rule := func(w *world, r R) scanRule { return w.rules[core(r).RuleName] }
	sets := map[string][]string{"sast": rulesets, "sca": {"supply-chain"}, "secrets": {"secrets"}}
	out := []filter[R]{
		{"policies", boards, func(w *world, r R, v string) bool { return w.mode(core(r).RuleName) == boardMode[v] }},
		{"policy_mode", []string{"monitor", "comment", "block"}, func(w *world, r R, v string) bool { return w.mode(core(r).RuleName) == v }},
		{"project_tags", []string{"PCI", "team-a"}, func(w *world, r R, v string) bool {
			return slices.ContainsFunc(w.project(core(r).Repository.Name).Tags, func(tag string) bool { return strings.EqualFold(tag, v) })
		}},
		{"rules", every(w.ruleNames(issueType), 9, 0)[:2], equals(func(r R) string { return core(r).RuleName })},
		{"ruleset", sets[issueType], func(w *world, r R, v string) bool { return rule(w, r).ruleset == v }},
		{"categories", []string{"security"}, contains(func(r R) []string { return core(r).Categories })},
		{"confidence", []string{"low", "medium", "high"}, equals(func(r R) string { return core(r).Confidence })},
		{"autotriage_verdict", []string{"true_positive", "false_positive"}, func(w *world, r R, v string) bool { return w.note(core(r), "autotriage", "verdict") == v }},
	}
	for _, f := range coreFilters(w, core) {
		if f.param != "repository_ids" && f.param != "click_to_fix_pr_state" {
			out = append(out, f)
		}
	}
	return out
}

// ruleNames returns the rules of a type by name.
func (w *world) ruleNames(kind string) []string {
	var out []string
	for name, rule := range w.rules {
		if rule.kind == kind {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// note returns an annotated member of a part of the assistant's results.
func (w *world) note(f *api.FindingCore, part, member string) any {
	assistant, _ := w.notes[lineage(f)]["assistant"].(object)
	members, _ := assistant[part].(object)
	return members[member]
}

func epssBand(e *api.EPSSScore) string {
	if e == nil {
		return model.BandOf(nil).String()
	}
	switch {
	case e.Score >= 0.5:
		return "high"
	case e.Score >= 0.1:
		return "medium"
	}
	return "low"
}

func testTriageCode(t *testing.T, w *world)    { codeSelection(w).test(t, w) }
func testTriageSupply(t *testing.T, w *world)  { supplySelection(w).test(t, w) }
func testTriageSecrets(t *testing.T, w *world) { secretSelection(w).test(t, w) }

// test checks each value of each filter by the findings to which it adds a note. It then combines
// each filter with the next one and with ids.
func (s selection[R]) test(t *testing.T, w *world) {
	// All findings of the tests have these.
	same := map[string]bool{"categories": s.issueType != "sast", "ruleset": s.issueType != "sast"}
	for i, f := range s.filters {
		for _, value := range f.values {
			if n := s.check(t, w, f.choose(value), nil); n == 0 || n == len(s.rows) && !same[f.param] {
				t.Errorf("%s=%s matches %d of %d, which proves nothing", f.param, value, n, len(s.rows))
			}
		}
		next := s.filters[(i+1)%len(s.filters)]
		s.check(t, w, append(f.choose(f.values[0]), next.choose(pick(next.values, i))...), nil)
		s.check(t, w, f.choose(f.values[0]), every(s.rows, 3, i))
	}
}

// check adds a note by a filter and optional ids, and compares the changed findings with a loop
// over all rows.
func (s selection[R]) check(t *testing.T, w *world, c choice[R], only []R) int {
	t.Helper()
	body := c.body(s.issueType)
	ids := map[int64]bool{}
	for _, r := range only {
		ids[s.core(r).ID] = true
		body["issue_ids"] = append(list[any](body["issue_ids"]), s.core(r).ID)
	}
	lineages := map[string]bool{}
	for _, r := range s.rows {
		if c.matches(w, r) && (only == nil || ids[s.core(r).ID]) {
			lineages[lineage(s.core(r))] = true
		}
	}
	want := mapped(filterSlice(s.rows, func(r R) bool { return lineages[lineage(s.core(r))] }), func(r R) int64 { return s.core(r).ID })
	slices.Sort(want)
	got, err := w.api().TriageFindings(t.Context(), w.deployment.Slug, typed[api.TriageRequest](t, body))
	if err != nil {
		t.Errorf("%v: %v", body, err)
		return 0
	}
	if diff := cmp.Diff(want, got.TriagedIssues); diff != "" || got.NumTriaged != int64(len(want)) {
		t.Errorf("%v matches %d (-want +got):\n%s", body, got.NumTriaged, diff)
	}
	return len(want)
}

// scalars are the filters of bulk triage that are not lists.
var scalars = []string{"autotriage_verdict", "include_historical", "pro_only", "ref", "since"}

// body returns the bulk triage that adds a note to the choice.
func (c choice[R]) body(issueType string) object {
	body := object{"issue_type": issueType, "new_note": "seen"}
	for _, one := range c {
		switch {
		case one.value == "true" || one.value == "false":
			body[one.param] = one.value == "true"
		case slices.Contains(scalars, one.param):
			body[one.param] = one.value
		default:
			body[one.param] = append(list[any](body[one.param]), one.value)
		}
	}
	return body
}

// list returns a value as a list, or nil.
func list[T any](v any) []T {
	out, _ := v.([]T)
	return out
}

// typed converts an object to a request of the client.
func typed[T any](t testing.TB, body object) T {
	t.Helper()
	var out T
	text, err := json.Marshal(body)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}
