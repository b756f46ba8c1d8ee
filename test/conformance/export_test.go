package conformance

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/api"
)

// testExport checks that an export contains the findings of the list for the same filter and token,
// in every format.
func testExport(t *testing.T, w *world) {
	for issueType, queries := range map[string][]string{
		"sast": {"", "status=open&status=ignored", "severities=high,critical&dedup=true", "repos=acme/payments&ref=main", "policies=rule-board-block", "assignees=@nobody", "repos=missing/none"},
		"sca":  {"", "status=open,fixed", "exposures=reachable", "transitivities=direct&repos=acme/payments", "is_malicious=false"},
	} {
		for _, query := range queries {
			for _, token := range []string{"", w.globbed} {
				want := w.listedIDs(t, token, "issue_type="+issueType+"&"+query)
				for _, format := range []string{"csv", "jsonl", "sarif"} {
					got := w.exportedIDs(t, token, format, "issue_type="+issueType+"&"+query)
					if format == "sarif" { // grouped by project
						slices.Sort(got)
						slices.Sort(want)
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("%s of %s, %s, bound %t (-listed +exported):\n%s", format, issueType, query, token != "", diff)
					}
				}
			}
		}
	}
	everything := append(w.listedIDs(t, "", "issue_type=sast"), w.listedIDs(t, "", "issue_type=sca")...)
	for _, f := range w.secrets {
		everything = append(everything, f.ID)
	}
	got := w.exportedIDs(t, "", "csv", "")
	slices.Sort(everything)
	slices.Sort(got)
	if diff := cmp.Diff(everything, got); diff != "" {
		t.Errorf("without a filter (-all +exported):\n%s", diff)
	}
}

// testExportedSecrets checks the filters that only secrets have.
func testExportedSecrets(t *testing.T, w *world) {
	for query, matches := range map[string]func(secretRow) bool{
		"":                                 func(secretRow) bool { return true },
		"validation_state=confirmed_valid": func(f secretRow) bool { return f.ValidationState == "confirmed_valid" },
		"status=open,fixed":                func(f secretRow) bool { return f.Status == "open" || f.Status == "fixed" },
		"secret_types=" + deref(w.secrets[0].SecretType): func(f secretRow) bool { return deref(f.SecretType) == deref(w.secrets[0].SecretType) },
	} {
		var want []int64
		for _, f := range filterSlice(w.secrets, matches) {
			want = append(want, f.ID)
		}
		got := w.exportedIDs(t, "", "jsonl", "issue_type=secrets&"+query)
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
			t.Errorf("%s selects %d (-want +got):\n%s", query, len(want), diff)
		}
	}
}

// testExportRefusals checks that filters that an issue type does not have are rejected instead of
// being ignored silently.
func testExportRefusals(t *testing.T, w *world) {
	for query, bad := range map[string]string{
		"format=pdf": "query.format", "issue_type=iac": "query.issue_type", "pro_only=false": "query.pro_only", "known_exploited=true": "query.known_exploited", "policies=rule-board-block&policy_mode=monitor": "query.policy_mode", "issue_type=sast&exposures=reachable": "query.exposures",
		"issue_type=sca,secrets&secret_types=AWS": "query.secret_types", "status=gone": "query.status",
	} {
		a := w.send(t, request{method: "GET", path: "findings/export?" + query})
		refused(t, a, 400, api.CodeInvalidArgument)
		if !strings.Contains(string(a.body), bad) {
			t.Errorf("%s: %s", query, a.body)
		}
	}
	a := w.send(t, request{method: "HEAD", path: "findings/export?format=xlsx"})
	if a.status != 200 || len(a.body) > 0 || a.header.Get("Content-Disposition") != `attachment; filename="findings.xlsx"` {
		t.Errorf("HEAD returns %d with %v", a.status, a.header)
	}
}

// listedIDs returns the ids of listed findings.
func (w *world) listedIDs(t *testing.T, token, query string) []int64 {
	t.Helper()
	out := []int64{}
	for _, f := range w.listedFindings(t, token, query) {
		out = append(out, f.ID)
	}
	return out
}

// exportedIDs returns the ids of exported findings.
func (w *world) exportedIDs(t *testing.T, token, format, query string) []int64 {
	t.Helper()
	a := w.send(t, request{method: "GET", path: "findings/export?format=" + format + "&" + query, token: token})
	if a.status != 200 {
		t.Fatalf("%d: %s", a.status, a.body)
	}
	out := []int64{}
	switch format {
	case "csv":
		rows, err := csv.NewReader(bytes.NewReader(a.body)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows[1:] {
			id, err := strconv.ParseInt(row[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, id)
		}
	case "jsonl":
		for line := range bytes.Lines(a.body) {
			var f api.Finding
			if err := json.Unmarshal(line, &f); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			out = append(out, f.ID)
		}
	case "sarif":
		var log struct {
			Runs []struct {
				Results []struct{ Properties struct{ Finding int64 } }
			}
		}
		if err := json.Unmarshal(a.body, &log); err != nil {
			t.Fatal(err)
		}
		for _, run := range log.Runs {
			for _, r := range run.Results {
				out = append(out, r.Properties.Finding)
			}
		}
	}
	return out
}
