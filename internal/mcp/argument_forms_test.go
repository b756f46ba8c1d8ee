package mcp_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/redoubt/redoubt/api"
)

// ids returns the ids of the findings of a search, in order.
func (w *world) ids(s *sdk.ClientSession, arguments map[string]any) (out []int64) {
	w.Helper()
	for _, f := range w.search(s, arguments) {
		out = append(out, f.ID)
	}
	return out
}

// TestArgumentsInOtherForms checks alternative forms of arguments: numbers as text, single values,
// lists of one value and former names. They must select the same as the form of the schema.
func TestArgumentsInOtherForms(t *testing.T) {
	w := newWorld(t, "")
	s := w.connect(w.token)
	all := w.ids(s, map[string]any{})
	for _, c := range []struct{ other, plain map[string]any }{
		{map[string]any{"status": "open"}, map[string]any{"status": []string{"open"}}},
		{map[string]any{"projects": "acme/other"}, map[string]any{"projects": []string{"acme/other"}}},
		{map[string]any{"ref": []string{"main"}}, map[string]any{"ref": "main"}},
		{map[string]any{"page": "0"}, map[string]any{"page": 0}},
		{map[string]any{"page": "1"}, map[string]any{"page": 1}},
	} {
		if got, want := w.ids(s, c.other), w.ids(s, c.plain); !slices.Equal(got, want) {
			t.Errorf("%v selects %v, %v selects %v", c.other, got, c.plain, want)
		}
	}
	var details struct{ Finding api.Finding }
	if w.data(s, "get_finding", map[string]any{"id": itoa(all[0])}, &details); details.Finding.ID != all[0] {
		t.Errorf("id as text reads %d instead of %d", details.Finding.ID, all[0])
	}
	var counts []api.FindingsCountedBy
	w.data(s, "count_findings", map[string]any{"issue_type": "sast", "group_by": []string{"repository"}}, &counts)
	if len(counts) != 1 || counts[0].GroupBy != "repository" {
		t.Errorf("groups are %+v", counts)
	}
	var plan struct{ Findings int }
	w.data(s, "plan_triage", map[string]any{"issue_type": "sast", "ids": itoa(all[0]), "state": "reviewing"}, &plan)
	if plan.Findings != 1 {
		t.Errorf("a lone id plans a change of %d findings", plan.Findings)
	}
	for _, c := range []map[string]any{
		{"id": "239x"}, {"id": "1.5"}, {"id": true}, {"id": []int64{all[0], all[0]}}, {"id": nil}, {"id": map[string]any{}}, {"ids": all[0]},
	} {
		if text, refused := w.call(s, "get_finding", c); !refused {
			t.Errorf("%v: %s", c, text)
		}
	}
}

// TestToolsShareNames checks that filters have the same names and values in all tools, in addition
// to former ones.
func TestToolsShareNames(t *testing.T) {
	inventoried(t, func(t *testing.T, w *world, s *sdk.ClientSession) {
		for _, c := range []map[string]any{
			{"severities": []string{"high"}, "status": []string{"open"}},
			{"severities": []string{"SEVERITY_HIGH"}, "status": "FINDING_STATUS_OPEN"},
			{"severity": []string{"SEVERITY_HIGH"}},
		} {
			if text, refused := w.call(s, "list_secrets", c); refused {
				t.Errorf("%v: %s", c, text)
			}
		}
		if text, refused := w.call(s, "list_secrets", map[string]any{"severities": "huge"}); !refused {
			t.Errorf("a severity that is none: %s", text)
		}
		project, err := w.client(w.token).GetProject(t.Context(), "acme", "acme/app")
		if err != nil {
			t.Fatal(err)
		}
		dependencies := func(arguments map[string]any) (out []string) {
			var list []api.Dependency
			w.data(s, "search_dependencies", arguments, &list)
			for _, d := range list {
				out = append(out, d.ID)
			}
			return out
		}
		named, numbered := dependencies(map[string]any{"name": "lodash", "projects": []string{"acme/app"}}), dependencies(map[string]any{"name": "lodash", "project_ids": []int64{project.Project.ID}})
		if len(named) == 0 || !slices.Equal(named, numbered) || slices.Equal(named, dependencies(map[string]any{"name": "lodash"})) {
			t.Errorf("dependencies by name %v, by id %v", named, numbered)
		}
		var scans, same []api.Scan
		w.data(s, "search_scans", map[string]any{"projects": "acme/app"}, &scans)
		w.data(s, "search_scans", map[string]any{"project_id": project.Project.ID}, &same)
		if len(scans) == 0 || len(scans) != len(same) || scans[0].ID != same[0].ID {
			t.Errorf("%d scans by name, %d by id", len(scans), len(same))
		}
		for _, arguments := range []map[string]any{{"project": "acme/app"}, {"projects": []string{"acme/app"}}} {
			if text := w.bill(s, arguments); !strings.Contains(text, "lodash@4.17.20") || strings.Contains(text, "lodash@4.17.21") {
				t.Errorf("%v is not of the project: %.500s", arguments, text)
			}
		}
		for _, tool := range []string{"search_dependencies", "search_scans", "create_sbom"} {
			for _, name := range []string{"acme/none", "none", "..", "a/.."} {
				if text, refused := w.call(s, tool, map[string]any{"projects": []string{name}}); !refused {
					t.Errorf("%s of the project %q: %s", tool, name, text)
				}
			}
		}
	})
}

// TestSearchSorts checks that findings can be sorted by severity over all pages.
func TestSearchSorts(t *testing.T) {
	w := newWorld(t, "")
	w.clock.Advance(time.Hour)
	report := `{"version":"1.180.0","errors":[],"paths":{"scanned":["b.py"]},"results":[` + strings.TrimSuffix(strings.Repeat(`{"check_id":"x.y","path":"b.py","start":{"line":1,"col":1},"end":{"line":1,"col":2},"extra":{"message":"m","severity":"INFO","fingerprint":"F","lines":"x","metadata":{}}},`, 30), ",") + `]}`
	for i := range 30 {
		report = strings.Replace(report, `"F"`, `"f`+itoa(int64(i))+`"`, 1)
	}
	if _, err := w.client(w.token).ImportReports(t.Context(), "acme", api.ImportQuery{Project: "acme/low", Ref: "main", Full: true}, []api.File{{Name: "semgrep.json", Data: []byte(report)}}); err != nil {
		t.Fatal(err)
	}
	s := w.connect(w.token)
	severities := func(arguments map[string]any) (out []string) {
		var page []struct{ Severity string }
		arguments["issue_type"] = "sast"
		w.data(s, "search_findings", arguments, &page)
		for _, f := range page {
			out = append(out, f.Severity)
		}
		return out
	}
	if newest := severities(map[string]any{}); len(newest) != 25 || slices.Contains(newest, "high") {
		t.Fatalf("newest first: %v", newest)
	}
	first, second := severities(map[string]any{"sort": "severity"}), severities(map[string]any{"sort": "severity", "page": 1})
	if all := slices.Concat(first, second); len(all) != 34 || !slices.Equal(all[:4], []string{"high", "high", "high", "high"}) || slices.Contains(all[4:], "high") {
		t.Errorf("by severity: %v", all)
	}
	if text, refused := w.call(s, "search_findings", map[string]any{"issue_type": "sast", "sort": "colour"}); !refused {
		t.Errorf("an order that is none: %s", text)
	}
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// TestTriageWithInvalidIDsIsRejected checks that a list with an invalid id selects nothing. Otherwise the
// other filters would select more findings than were listed.
func TestTriageWithInvalidIDsIsRejected(t *testing.T) {
	w := newWorld(t, "")
	s := w.connect(w.token)
	for _, ids := range []any{[]string{"007"}, []string{"+5"}, "007", []any{1, "+5"}, []string{"1e3"}, []any{[]string{"007"}}, []int64{}} {
		arguments := map[string]any{"issue_type": "sast", "ids": ids, "status": "open", "state": "ignored"}
		if text, refused := w.call(s, "plan_triage", arguments); !refused {
			t.Errorf("ids %v: %s", ids, text)
		}
	}
}
