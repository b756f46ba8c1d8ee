package ingest

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/weblink"
)

func TestEncode(t *testing.T) {
	links := weblink.New("https://github.com/acme/payments", "c1", "")
	at := model.Location{Line: 3, Column: 2, EndLine: 4, EndColumn: 9}
	code := model.Result{
		Rule: eqeq, Path: "a.py", Location: at, Message: "x <b>", MatchBasedID: "m_0", SyntacticID: "s", Code: "x == x", Blocking: true,
		DataFlow: []model.FlowStep{{Path: "a.py", Line: 1, Column: 1, Content: "x"}},
	}
	inLockfile := model.Result{Rule: vuln, Path: "go.sum", Location: at, MatchBasedID: "m_0", Dependency: &model.Vulnerable{
		Ecosystem: "gomod", Package: "p", Version: "1", Lockfile: "go.sum", Line: 3, Transitivity: model.Direct, Malicious: true,
		Vulnerability: "CVE-1", Condition: "if", Fixes: []model.Fix{{Package: "p", Version: "2"}},
	}}
	inCode := with(inLockfile, func(r *model.Result) {
		r.Path = "a.go"
		r.Dependency = &model.Vulnerable{Ecosystem: "gomod", Package: "p", Version: "1", Lockfile: "go.sum", InCode: true}
	})
	hidden := model.Result{Rule: leak, Path: "a.py", Location: at, Message: "a key", MatchBasedID: "m_0", SyntacticID: "s", Secret: &model.SecretMatch{Hash: model.Digest{1}, Commit: "c0"}}
	unsaid := model.Result{Rule: leak, Path: "a.py", Location: at, Message: "hunter2", Code: "hunter2", SyntacticID: "s", DataFlow: []model.FlowStep{{Content: "hunter2"}}}
	const location = `"location":{"column":2,"endColumn":9,"endLine":4,"filePath":"a.py","line":3},"line_of_code_url":"https://github.com/acme/payments/blob/c1/a.py#L3",`
	for name, test := range map[string]struct {
		result         model.Result
		links          weblink.Links
		body, evidence string
	}{
		"code": {
			code, links,
			location + `"match_based_id":"m_0","syntactic_id":"s","rule_message":"x <b>"`,
			`{"code":"x == x","data_flow":[{"path":"a.py","line":1,"column":1,"content":"x"}],"blocking":true}`,
		},
		"code, nothing told": {
			model.Result{Rule: eqeq, Path: "a.py"},
			weblink.Links{},
			`"location":{"column":0,"endColumn":0,"endLine":0,"filePath":"a.py","line":0},"line_of_code_url":"","match_based_id":"ID","syntactic_id":"","rule_message":null`,
			`{}`,
		},
		"lockfile": {
			inLockfile, links,
			`"location":{"column":2,"endColumn":9,"endLine":4,"filePath":"go.sum","line":3},"line_of_code_url":"https://github.com/acme/payments/blob/c1/go.sum#L3",` +
				`"match_based_id":"m_0","syntactic_id":"","rule_message":null,"fix_recommendations":[{"package":"p","version":"2"}],` +
				`"found_dependency":{"ecosystem":"gomod","lockfile_line_url":"https://github.com/acme/payments/blob/c1/go.sum#L3","package":"p","transitivity":"direct","version":"1"},` +
				`"is_malicious":true,"reachable_condition":"if","usage":null,"vulnerability_identifier":"CVE-1"`,
			`{}`,
		},
		"reachable in code": {
			inCode,
			weblink.Links{},
			`"location":{"column":2,"endColumn":9,"endLine":4,"filePath":"a.go","line":3},"line_of_code_url":"",` +
				`"match_based_id":"m_0","syntactic_id":"","rule_message":null,"fix_recommendations":[],` +
				`"found_dependency":{"ecosystem":"gomod","lockfile_line_url":null,"package":"p","transitivity":"unknown","version":"1"},` +
				`"is_malicious":false,"reachable_condition":null,"usage":{"external_ticket":null,"location":{"column":2,"endColumn":9,"endLine":4,"filePath":"a.go","line":3}},"vulnerability_identifier":null`,
			`{}`,
		},
		"secret": {
			hidden, links, location + `"match_based_id":"ID","syntactic_id":"","rule_message":"a key"`, `{"commit":"c0"}`,
		},
		"of a secrets rule, not redacted": {
			unsaid, links, location + `"match_based_id":"ID","syntactic_id":"","rule_message":"a $KIND"`, `{}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := observe("semgrep", test.result)[0]
			body, evidence, err := encodeBody(&s, test.links)
			if err != nil {
				t.Fatal(err)
			}
			want := test.body
			if s.Finding.Identity.Kind != model.IdentityMatchBased {
				want = strings.Replace(want, "\"ID\"", strconv.Quote(s.shownID()), 1)
			}
			if diff := cmp.Diff(decode(t, want), decode(t, string(body))); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.evidence, string(evidence)); diff != "" {
				t.Errorf("evidence (-want +got):\n%s", diff)
			}
		})
	}
}

// decode decodes JSON members, whose order is irrelevant.
func decode(t *testing.T, members string) (out map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte("{"+members+"}"), &out); err != nil {
		t.Fatalf("%v in %s", err, members)
	}
	return out
}
