package index

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
)

var update = flag.Bool("update", false, "update the golden files")

func TestFindingsJSON(t *testing.T) {
	w := goldenWorld(t)
	v := view(t, New(w, Options{BodyCache: 1 << 20}))
	for _, issueType := range []model.IssueType{model.SAST, model.SCA, model.Secrets} {
		t.Run(issueType.String(), func(t *testing.T) {
			var got bytes.Buffer
			if err := json.Indent(&got, written(t, v, model.FindingFilter{IssueType: issueType}, 0, 100), "", "  "); err != nil {
				t.Fatal(err)
			}
			got.WriteByte('\n')
			golden(t, filepath.Join("testdata", issueType.String()+".golden.json"), got.Bytes())
		})
	}
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; make it with go test -update", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s\nIf the change is wanted: go test -update", path, diff)
	}
}

// goldenWorld has two findings per issue type: one with all members and one without optional
// members.
func goldenWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld()
	seed(w)
	w.putPolicy(model.Policy{ID: 2, Name: "Strict \"one\"", Slug: "strict", Product: model.SAST})
	w.putPolicyRule(model.PolicyRule{ID: 2, PolicyID: 2, Rule: model.Rule{Name: "go.sql.injection"}, Mode: model.ModeBlock})
	w.putRule(model.Rule{ID: 2, Name: "imported.rule", Confidence: 1})
	full := model.Lineage{ID: 10, ProjectID: 1, Annotations: goldenAnnotations(t), Triage: model.Triage{
		State: model.TriageIgnored, Reason: model.FalsePositive, Comment: "Seen <twice> & \"checked\".", At: time.Date(2024, 5, 28, 6, 38, 54, 962_941_000, time.UTC),
	}}
	bare := model.Lineage{ID: 11, ProjectID: 1, Triage: model.Triage{State: model.TriageUntriaged}}
	w.putLineage(full)
	w.putLineage(bare)
	for i, issueType := range []model.IssueType{model.SAST, model.SCA, model.Secrets} {
		f := goldenFinding(t, issueType)
		f.ID, f.LineageID, f.RuleID = int64(i*2+2), full.ID, 1
		w.putFinding(f)
		f.ID, f.LineageID, f.RuleID, f.StateUpdatedAt = int64(i*2+1), bare.ID, 2, time.Time{}
		w.putFinding(f)
	}
	w.commit()
	return w
}

func goldenFinding(t *testing.T, issueType model.IssueType) model.IndexedFinding {
	t.Helper()
	message := "Found \"it\" in <b>."
	body := model.Body{
		RuleMessage: &message, Location: model.WireLocation{Column: 1, EndColumn: 9, EndLine: 3, FilePath: "src/a.go", Line: 3},
		LineOfCodeURL: "https://git.example/acme/api/blob/main/src/a.go#L3", MatchBasedID: "abc_0", SyntacticID: "def",
	}
	f := model.IndexedFinding{Finding: model.Finding{
		IssueType: issueType, ProjectID: 1, Ref: "refs/heads/main", State: model.Unresolved, Severity: model.SeverityHigh,
		Confidence: model.ConfidenceMedium, FirstScanID: 77, CreatedAt: time.Date(2024, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600)),
		RelevantSince: time.Date(2024, 2, 2, 3, 4, 5, 600_000_000, time.UTC), StateUpdatedAt: time.Date(2024, 2, 3, 0, 0, 0, 1_000, time.UTC),
	}}
	switch issueType {
	case model.SCA:
		f.Reachability, f.Transitivity, f.Package = model.ReachabilityUnknown, model.Direct, "lodash"
		body.SCABody = &model.SCABody{
			FixRecommendations: []model.Fix{{Package: "lodash", Version: "4.17.21"}},
			FoundDependency:    model.FoundDependency{Ecosystem: "npm", Package: "lodash", Transitivity: "direct", Version: "4.17.20"},
		}
	case model.Secrets:
		f.SecretType, f.ValidationState, f.Historical = "AWS", model.ConfirmedValid, true
	}
	var err error
	if f.Body, err = body.Members(); err != nil {
		t.Fatal(err)
	}
	return f
}

func goldenAnnotations(t *testing.T) (a model.Annotations) {
	t.Helper()
	if err := json.Unmarshal([]byte(`{
		"assistant": {
			"autofix": {"explanation": null, "fix_code": "x < y"}, "autotriage": {"reason": "r", "verdict": "true_positive"},
			"component": {"risk": "high", "tag": "auth"}, "guidance": {"instructions": null, "summary": "s"},
			"rule_explanation": {"explanation": "e", "summary": "s"}
		},
		"external_ticket": {"externalSlug": "ABC-1", "id": 5, "url": "https://tracker.example/ABC-1"},
		"review_comments": [{"externalDiscussionId": "d", "externalNoteId": 6}],
		"click_to_fix_prs": [{"created_at": "2024-05-28T08:38:54+02:00", "url": "https://git.example/pr/1", "state": "merged"}],
		"click_to_fix_failures": [{"created_at": "2024-05-28T06:38:54Z", "reason": "conflict"}],
		"epss_score": {"percentile": 0.97, "score": 0.5}
	}`), &a); err != nil {
		t.Fatal(err)
	}
	a.Reachability = model.ConditionallyReachable
	return a
}

// TestWritingAllocatesNothingPerFinding checks that the allocations for writing a page do not
// depend on its number of findings.
func TestWritingAllocatesNothingPerFinding(t *testing.T) {
	v := bulkView(t, 4000)
	cost := func(size int) float64 {
		var sink sink
		return testing.AllocsPerRun(20, func() {
			p, err := v.Page(t.Context(), model.FindingFilter{IssueType: model.SAST}, 0, size)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.WriteTo(&sink); err != nil {
				t.Fatal(err)
			}
		})
	}
	if small, large := cost(100), cost(3000); large > small+10 {
		t.Errorf("a page of 3,000 allocates %v times, one of 100 %v times", large, small)
	}
}

// prober records the sizes of writes and calls a function during each.
type prober struct {
	sizes []int
	each  func() error
}

func (p *prober) Write(b []byte) (int, error) {
	p.sizes = append(p.sizes, len(b))
	return len(b), p.each()
}

func TestNoLockIsHeldWhileWriting(t *testing.T) {
	w := newWorld()
	seed(w)
	body := `"rule_message":"` + strings.Repeat("m", 20_000) + `"`
	add(w, body, span(1, 100)...)
	x := New(w, Options{BodyCache: 1 << 30})
	p, err := view(t, x).Page(t.Context(), model.FindingFilter{IssueType: model.SAST}, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	next := int64(101)
	slow := &prober{each: func() error {
		add(w, body, next) // the next view applies this, which needs the write lock
		next++
		view(t, x)
		return nil
	}}
	n, err := p.WriteTo(slow)
	if p.Len() != 100 || err != nil || n < 2_000_000 || len(slow.sizes) != 4 {
		t.Errorf("wrote %d bytes in %d pieces, %v; want two megabytes in 4", n, len(slow.sizes), err)
	}
	for _, size := range slow.sizes[:len(slow.sizes)-1] {
		if size < 256<<10 || size > 1<<20 {
			t.Errorf("a piece of %d bytes", size)
		}
	}
}

func TestWritingStopsAtTheFirstError(t *testing.T) {
	w := newWorld()
	seed(w)
	add(w, `"rule_message":"`+strings.Repeat("m", 300_000)+`"`, span(1, 9)...)
	p, err := view(t, New(w, Options{})).Page(t.Context(), model.FindingFilter{IssueType: model.SAST}, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	gone := errors.New("client is gone")
	broken := &prober{each: func() error { return gone }}
	if n, err := p.WriteTo(broken); !errors.Is(err, gone) || len(broken.sizes) != 1 || n != int64(broken.sizes[0]) {
		t.Errorf("WriteTo = %d, %v after %d writes", n, err, len(broken.sizes))
	}
}

func TestBodiesOverBudgetAreReadFromStore(t *testing.T) {
	w := newWorld()
	seed(w)
	add(w, `"rule_message":"`+strings.Repeat("m", 1000)+`"`, span(1, 100)...)
	const limit = 3 * smallChunk
	x := New(w, Options{BodyCache: limit})
	v := view(t, x)
	if n := x.Stats().BodyBytes; n == 0 || n > limit {
		t.Errorf("%d bytes of bodies are in memory, want at most %d", n, limit)
	}
	if ids(t, v, 0, 10); w.bodyReads != 0 {
		t.Errorf("%d of the newest bodies were read from the store", w.bodyReads)
	}
	if all := ids(t, v, 0, 100); len(all) != 100 || w.bodyReads == 0 || w.bodyReads == 100 {
		t.Errorf("%d findings listed with %d bodies from the store", len(all), w.bodyReads)
	}
	delete(w.findings, 1) // deleted after the view was created
	if all := ids(t, v, 0, 100); len(all) != 99 {
		t.Errorf("%d findings listed, want 99: one has no body any more", len(all))
	}
}
