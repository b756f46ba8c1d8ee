package report

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/semgrep"
	"github.com/redoubt/redoubt/internal/testutil/reporttest"
)

const ciResults = `{"token":"ghp_never_kept","findings":[
 {"check_id":"r","path":"./a.py","line":3,"column":2,"end_line":3,"end_column":9,"message":"m x","severity":2,"syntactic_id":"s","match_based_id":"m_0",
  "hashes":{"code_hash":"c","pattern_hash":"p"},"metadata":{"dev.semgrep.actions":["block"],"confidence":"HIGH"},"validation_state":"NO_VALIDATOR","engine_kind":"OSS",
  "dataflow_trace":{"taint_source":["CliLoc",[{"path":"a.py","start":{"line":1,"col":1}},"<code omitted>"]]}},
 {"check_id":"k","path":"b.py","line":1,"message":"the key is hunter2hunter2","severity":9,"syntactic_id":"s2","match_based_id":"m2_0","hashes":{"code_hash":"c2","pattern_hash":"p2"},
  "metadata":{"product":"secrets"},"validation_state":"CONFIRMED_VALID"},
 {"check_id":"","path":"a.py"},{"check_id":"r","path":"../out.py"}],
"ignores":[{"check_id":"r","path":"a.py","line":9,"severity":3,"metadata":{}}],
"searched_paths":["a.py","b.py"],"skipped_paths":["c.py"],"renamed_paths":["old.py"],"rule_ids":["r","k"],"unheard_of":{"x":[1]}}`

func TestReadCIResults(t *testing.T) {
	rep := readCI(t, ciResults, testKey)
	reporttest.Check(t, rep)
	if diff := cmp.Diff([][]string{{"a.py", "b.py"}, {"c.py"}, {"r", "k"}}, [][]string{rep.Searched, rep.Skipped, rep.RulesRun}); diff != "" {
		t.Errorf("searched, skipped, rules (-want +got):\n%s", diff)
	}
	if len(rep.Results) != 3 || len(rep.Refused) != 2 {
		t.Fatalf("%d results, refused %v", len(rep.Results), rep.Refused)
	}
	code, secret, muted := rep.Results[0], rep.Results[1], rep.Results[2]
	if code.MatchBasedID != "m_0" || code.SyntacticID != "s" || code.CodeHash != "c" || code.PatternHash != "p" || code.Severity != model.SeverityHigh ||
		!code.Blocking || code.Path != "a.py" || code.Location != (model.Location{Line: 3, Column: 2, EndLine: 3, EndColumn: 9}) ||
		len(code.DataFlow) != 1 || code.DataFlow[0].Content != "" {
		t.Errorf("%+v", code)
	}
	if secret.MatchBasedID+secret.SyntacticID+secret.CodeHash+secret.PatternHash+secret.Code != "" || secret.Message != "k" ||
		secret.Secret == nil || secret.Secret.Hash == (model.Digest{}) || secret.Secret.Validation != model.ConfirmedValid {
		t.Errorf("%+v %+v", secret, secret.Secret)
	}
	if !muted.Muted || muted.Blocking || muted.Severity != model.SeverityCritical {
		t.Errorf("%+v", muted)
	}
	if readCI(t, ciResults, []byte("another key")).Results[1].Secret.Hash == secret.Secret.Hash {
		t.Error("the secret's hash does not hang on the key")
	}
}

// TestReadOlderCIResults checks results of older versions, which contain dependencies, and renamed files.
func TestReadOlderCIResults(t *testing.T) {
	rep := readCI(t, `{"findings":[],"ignores":[],"searched_paths":["new.py","again.py"],"skipped_paths":["old.py","again.py","c.py"],"renamed_paths":["old.py","again.py"],"rule_ids":[],
		"dependencies":{"yarn.lock":[{"package":"lodash","version":"4.17.20","ecosystem":"npm","transitivity":"direct"}],"go.mod":[]}}`, testKey)
	if diff := cmp.Diff([]string{"again.py", "c.py"}, rep.Skipped); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
	if len(rep.Inventories) != 2 || rep.Inventories[0].Lockfile != "yarn.lock" || len(rep.Inventories[0].Dependencies) != 1 || len(rep.Inventories[1].Dependencies) != 0 {
		t.Errorf("lockfiles: %+v", rep.Inventories)
	}
}

func readCI(t *testing.T, text string, key []byte) *model.Report {
	t.Helper()
	reading, err := ReadCIResults(strings.NewReader(text), format.Options{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	return reading.Reports(nil)[0]
}

func TestReadCICompletion(t *testing.T) {
	done, err := semgrep.ReadCICompletion(strings.NewReader(`{"exit_code":1,"task_id":null,"stats":{"total_time":1.5,"errors":[],"parse_rate":{"js":{"bytes_parsed":22,"num_bytes":39},"python":{"bytes_parsed":7,"num_bytes":7},"go":{}},"supply_chain_stats":{"subprojects_stats":[
		{"dependency_sources":[{"kind":["Lockfile","NpmPackageLockJson"],"path":"web/package-lock.json"},{"kind":["Manifest","PackageJson"],"path":"web/package.json"}],"unresolved_reason":"failed"},
		{"dependency_sources":[{"kind":["Manifest","PomXml"],"path":"pom.xml"}],"unresolved_reason":"unsupported"},
		{"dependency_sources":[{"kind":["Lockfile","GoMod"],"path":"go.mod"}],"unresolved_reason":"skipped"},
		{"dependency_sources":[{"kind":["Lockfile","YarnLock"],"path":"yarn.lock"}],"resolved_stats":{"dependency_count":1}}]}},
	 "dependencies":{"yarn.lock":[{"package":"lodash","version":"4.17.20","ecosystem":"npm","transitivity":"direct","line_number":3,"allowed_hashes":{"sha512":["ab"]}}],"../out":[{"package":"x"}]},
	 "skipped_subprojects":[{"root_dir":"x","dependency_sources":[{"kind":["Lockfile","UvLock"],"path":"x/uv.lock"}]}],"final_attempt":false}`), format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := &semgrep.CICompletion{
		Unparsed: []model.ScanGap{{Kind: model.GapParse, What: "js", Why: "22 of 39 bytes were parsed"}},
		ExitCode: 1, Seconds: 1.5, Unread: []string{"web/package-lock.json", "pom.xml"}, Unresolved: []string{"web/package-lock.json", "pom.xml", "go.mod", "x/uv.lock"},
		Inventories: []model.Inventory{{Lockfile: "yarn.lock", Dependencies: []model.Dependency{{
			Ecosystem: "npm", Name: "lodash", Version: "4.17.20", Transitivity: model.Direct, Line: 3, Licenses: []string{}, PURL: "pkg:npm/lodash@4.17.20",
			Hashes: []model.Hash{{Algorithm: "SHA-512", Hex: "ab"}},
		}}}},
	}
	if diff := cmp.Diff(want, done); diff != "" {
		t.Errorf("completion (-want +got):\n%s", diff)
	}
}

func TestReadCIBounds(t *testing.T) {
	for what, body := range map[string]string{"cut short": ciResults[:200], "no object": `[]`, "two documents": `{}{}`, "empty": ``} {
		if _, err := ReadCIResults(strings.NewReader(body), format.Options{}); err == nil {
			t.Errorf("results, %s, were taken", what)
		}
		if _, err := semgrep.ReadCICompletion(strings.NewReader(body), format.Options{}); err == nil {
			t.Errorf("a completion, %s, was taken", what)
		}
	}
	_, err := ReadCIResults(strings.NewReader(ciResults), format.Options{Limits: format.Limits{Input: 100}})
	if !errors.Is(err, model.ErrTooLarge) {
		t.Errorf("over the limit: %v", err)
	}
}

func TestSemgrepRule(t *testing.T) {
	got, err := semgrep.SemgrepRule([]byte(`{"id":"r","message":"m $X","severity":"HIGH","languages":["go","python"],"pattern":"x",
		"metadata":{"cwe":"CWE-1","category":"security","product":"secrets","secret_type":"AWS","dev.semgrep.actions":["comment"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got.Name != "r" || got.Message != "m $X" || got.Severity != model.SeverityHigh || got.IssueType != model.Secrets || got.SecretType != "AWS" ||
		got.Mode != model.ModeComment || !cmp.Equal(got.Languages, []string{"go", "python"}) || !cmp.Equal(got.CWE, []string{"CWE-1"}) {
		t.Errorf("%+v", got)
	}
	if got, err := semgrep.SemgrepRule([]byte(`{"id":"d","r2c-internal-project-depends-on":{}}`)); err != nil || got.IssueType != model.SCA {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := semgrep.SemgrepRule([]byte(`[]`)); err == nil {
		t.Error("a list was taken for a rule")
	}
}

func FuzzReadCI(f *testing.F) {
	f.Add([]byte(ciResults))
	f.Fuzz(func(t *testing.T, data []byte) {
		o := format.Options{Name: "results", Key: testKey, Limits: small}
		if reading, err := ReadCIResults(bytes.NewReader(data), o); err == nil {
			reporttest.Check(t, reading.Reports(nil)[0])
		}
		if done, err := semgrep.ReadCICompletion(bytes.NewReader(data), o); err == nil && done.Inventories == nil {
			t.Error("a completion without inventories: nil means that it looked for none")
		}
	})
}

// TestUploadIncludesMutedResults checks that uploads contain muted results, which only plain JSON may omit.
func TestUploadIncludesMutedResults(t *testing.T) {
	if rep := readCI(t, `{"findings":[],"ignores":[],"searched_paths":[],"rule_ids":[]}`, nil); rep.HidesMuted {
		t.Errorf("the upload hides what is muted: %+v", rep)
	}
	for ignored, want := range map[string]bool{"": true, `,"is_ignored":true`: false} {
		if r := semgrepRead(t, ignored); r.HidesMuted != want {
			t.Errorf("with a result that has %q, HidesMuted is %v", ignored, r.HidesMuted)
		}
	}
}

func semgrepRead(t *testing.T, extra string) *model.Report {
	t.Helper()
	return readOne(t, "x", `{"skipped_rules":[],"results":[{"check_id":"r","path":"a.py","extra":{"severity":"INFO","metadata":{}`+extra+`}}]}`)
}
