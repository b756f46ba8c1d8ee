package conformance

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/api"
)

// countable maps the groups of members that a list contains to the values of a finding.
var countable = map[string]func(api.Finding) []string{
	"severity":   func(f api.Finding) []string { return []string{f.Severity} },
	"status":     func(f api.Finding) []string { return []string{f.Status} },
	"confidence": func(f api.Finding) []string { return []string{f.Confidence} },
	"repository": func(f api.Finding) []string { return []string{f.Repository.Name} },
	"rule":       func(f api.Finding) []string { return []string{f.RuleName} },
	"category":   func(f api.Finding) []string { return f.Categories },
	"ref":        func(f api.Finding) []string { return []string{f.Ref} },
	"triage_reason": func(f api.Finding) []string {
		if f.TriageReason == nil {
			return nil
		}
		return []string{*f.TriageReason}
	},
	"exposure": func(f api.Finding) []string {
		if f.Reachability == "" {
			return nil
		}
		return []string{f.Reachability}
	},
	"transitivity": func(f api.Finding) []string {
		if f.FoundDependency == nil {
			return nil
		}
		return []string{f.FoundDependency.Transitivity}
	},
	"dependency": func(f api.Finding) []string {
		if f.FoundDependency == nil {
			return nil
		}
		return []string{f.FoundDependency.Package}
	},
	"is_malicious": func(f api.Finding) []string {
		if f.IsMalicious == nil {
			return nil
		}
		return []string{strconv.FormatBool(*f.IsMalicious)}
	},
	"severity_unrated": func(f api.Finding) []string {
		if f.FoundDependency == nil {
			return nil
		}
		return []string{strconv.FormatBool(f.Unrated)}
	},
}

// testCounts checks that each count equals the number of listed findings.
func testCounts(t *testing.T, w *world) {
	groups := url.Values{}
	for name := range countable {
		groups.Add("group_by", name)
	}
	for _, query := range []string{"issue_type=sast", "issue_type=sast&status=open&severities=high,medium", "issue_type=sca", "issue_type=sca&dedup=true&status=open", "issue_type=sast&repos=missing/none"} {
		for _, token := range []string{"", w.globbed} {
			want := map[string]map[string]int64{}
			for name := range countable {
				want[name] = map[string]int64{}
			}
			list := w.listedFindings(t, token, query)
			for _, f := range list {
				for name, of := range countable {
					for _, value := range of(f) {
						want[name][value]++
					}
				}
			}
			got := w.counts(t, token, query+"&"+groups.Encode())
			if got.Total != int64(len(list)) {
				t.Errorf("%s: %d, want %d", query, got.Total, len(list))
			}
			if diff := cmp.Diff(want, valuesOf(got)); diff != "" {
				t.Errorf("%s, bound %t (-listed +counted):\n%s", query, token != "", diff)
			}
		}
	}
	all := w.counts(t, "", "group_by=issue_type,issue_type,secret_type&limit=1")
	if len(all.Groups) != 2 || len(all.Groups[0].Values) != 1 || all.Groups[0].More != 2 || all.Total != int64(len(w.code)+len(w.supply)+len(w.secrets)) {
		t.Errorf("all together: %+v", all)
	}
	refused(t, w.send(t, request{method: "GET", path: "findings/counts?group_by=size"}), 400, api.CodeInvalidArgument)
	refused(t, w.send(t, request{method: "GET", path: "findings/counts?pro_only=true"}), 400, api.CodeInvalidArgument)
}

func (w *world) counts(t *testing.T, token, query string) (out api.CountFindingsResponse) {
	t.Helper()
	a := w.send(t, request{method: "GET", path: "findings/counts?" + query, token: token})
	if err := json.Unmarshal(a.body, &out); err != nil || a.status != 200 {
		t.Fatalf("%s: %d %v: %s", query, a.status, err, a.body)
	}
	return out
}

func valuesOf(r api.CountFindingsResponse) map[string]map[string]int64 {
	out := map[string]map[string]int64{}
	for _, group := range r.Groups {
		out[group.GroupBy] = map[string]int64{}
		for _, v := range group.Values {
			out[group.GroupBy][v.Value] = v.Count
		}
	}
	return out
}

// listedFindings returns the listed findings of either type.
func (w *world) listedFindings(t *testing.T, token, query string) []api.Finding {
	t.Helper()
	a := w.send(t, request{method: "GET", path: "findings?page_size=3000&" + query, token: token})
	var page struct {
		SAST struct{ Findings []api.Finding } `json:"sastFindings"`
		SCA  struct{ Findings []api.Finding } `json:"scaFindings"`
	}
	if err := json.Unmarshal(a.body, &page); err != nil || a.status != 200 {
		t.Fatalf("%d %v: %s", a.status, err, strings.TrimSpace(string(a.body)))
	}
	return append(page.SAST.Findings, page.SCA.Findings...)
}
