package conformance

import (
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/api"
)

// testSelections checks that counts and exports support every filter of the list and of bulk
// triage. The list supports those filters of bulk triage that its types have.
func testSelections(t *testing.T, w *world) {
	codeSelection(w).selects(t, w, codeFilters(w))
	supplySelection(w).selects(t, w, supplyFilters(w))
	secretSelection(w).selects(t, w, nil)
}

// selects checks one value of each filter of bulk triage and of the list.
func (s selection[R]) selects(t *testing.T, w *world, listing []filter[R]) {
	for _, f := range append(slices.Clone(s.filters), listing...) {
		if f.param == "include_historical" && s.issueType != "secrets" {
			continue
		}
		for _, value := range f.values {
			query := url.Values{"issue_type": {s.issueType}, f.param: {value}}.Encode()
			want := mapped(filterSlice(s.rows, func(r R) bool { return f.matches(w, r, value) }), func(r R) int64 { return s.core(r).ID })
			slices.Sort(want)
			if got := w.counts(t, "", query); got.Total != int64(len(want)) {
				t.Errorf("%s counts %d, want %d", query, got.Total, len(want))
			}
			got := w.exportedIDs(t, "", "jsonl", query)
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" && len(want)+len(got) > 0 {
				t.Errorf("%s exports (-want +got):\n%s", query, diff)
			}
			if s.issueType == "secrets" || s.issueType == "sca" && slices.Contains([]string{"rules", "categories", "confidence", "policies", "autotriage_verdict"}, f.param) {
				continue // the list does not have it
			}
			got = w.listedIDs(t, "", query)
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" && len(want)+len(got) > 0 {
				t.Errorf("%s lists (-want +got):\n%s", query, diff)
			}
		}
	}
}

// groupFilters maps each group to the parameter that selects its values.
var groupFilters = map[string]string{
	"issue_type": "issue_type", "severity": "severities", "status": "status", "triage_reason": "triage_reasons", "confidence": "confidence",
	"repository": "repos", "repository_tag": "project_tags", "repository_visibility": "repository_visibility", "ref": "ref",
	"rule": "rules", "ruleset": "ruleset", "category": "categories", "policy_mode": "policy_mode", "autotriage_verdict": "autotriage_verdict",
	"component_tag": "component_tags", "click_to_fix_pr_state": "click_to_fix_pr_state", "exposure": "exposures", "transitivity": "transitivities",
	"is_malicious": "is_malicious", "dependency": "dependencies", "epss_probability": "epss_probability", "known_exploited": "known_exploited",
	"severity_unrated": "severity_unrated", "secret_type": "secret_types", "validation_state": "validation_state", "assignee": "assignees", "due": "due",
}

// testGroupCountsMatchSelections checks that the values of counts can be selected: each value of a group
// selects as many findings as its count.
func testGroupCountsMatchSelections(t *testing.T, w *world) {
	for _, issueType := range []string{"sast", "sca", "secrets"} {
		groups := url.Values{"issue_type": {issueType}}
		for _, name := range groupsOf(t) {
			groups.Add("group_by", name)
		}
		for _, group := range w.counts(t, "", groups.Encode()).Groups {
			param := groupFilters[group.GroupBy]
			for _, v := range group.Values[:min(3, len(group.Values))] {
				if group.GroupBy == "due" && v.Value == "30d" {
					continue // 7d is part of it
				}
				query := url.Values{"issue_type": {issueType}, param: {v.Value}}.Encode()
				if got := w.counts(t, "", query); got.Total != v.Count {
					t.Errorf("%s was counted %d times, and selects %d", query, v.Count, got.Total)
				}
			}
		}
	}
}

// groupsOf returns the values of group_by, from the tag from which openapi.json is generated.
func groupsOf(t *testing.T) []string {
	t.Helper()
	field, _ := reflect.TypeFor[api.CountFindingsQuery]().FieldByName("GroupBy")
	words := strings.Split(field.Tag.Get("enum"), ",")
	for _, word := range words {
		if groupFilters[word] == "" {
			t.Errorf("%s has no filter", word)
		}
	}
	return words
}
