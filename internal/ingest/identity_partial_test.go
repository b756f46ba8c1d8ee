package ingest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
)

// coverageStep is a scan of a file of calls that reports some of them, with one kind of coverage.
type coverageStep struct {
	ref      string
	calls    string // lines: a letter each; * if ignored afterwards, ~ if muted; upper case is longer
	sees     string // reported calls; all if empty
	withCode string // calls reported with code
	coverage string // "": full; or partly, failed, lists nothing, hides muted, diff, partly diff, other rule
	want     string // the reported calls, each with * if it is ignored afterwards
	live     int    // number of findings of the ref afterwards; not checked if 0
}

// TestCodelessReportsAfterPartialScans checks results after unread, unclosed and unreported ones.
// E, F and G are never decided on, so they must be open.
func TestCodelessReportsAfterPartialScans(t *testing.T) {
	const main, dev = "main", "dev"
	for name, steps := range map[string][]coverageStep{
		"a call is put in where a part was not read": {
			{ref: main, calls: "a*b*", want: "a*b*"}, {ref: main, calls: "ab", sees: "a", coverage: "partly", want: "a", live: 3}, {ref: main, calls: "eab", want: "eab", live: 3},
		},
		"on the branch of it": {
			{ref: main, calls: "a*b*", want: "a*b*"}, {ref: main, calls: "ab", sees: "a", coverage: "partly", want: "a"}, {ref: dev, calls: "eab", want: "eab"},
		},
		"nothing closes": {
			{ref: main, calls: "a*", coverage: "lists nothing", want: "a*"},
			{ref: main, calls: "ea", coverage: "lists nothing", want: "ea", live: 3},
			{ref: dev, calls: "fea", coverage: "lists nothing", want: "fea"},
			{ref: main, calls: "fea", coverage: "lists nothing", want: "fea"},
		},
		"a rule gave up while it came": {{ref: main, calls: "a*", want: "a*"}, {ref: main, calls: "ea", coverage: "partly", want: "ea"}, {ref: main, calls: "fea", want: "fea"}},
		"a run failed while it came":   {{ref: main, calls: "a*", want: "a*"}, {ref: main, calls: "ea", coverage: "failed", want: "ea"}, {ref: main, calls: "fea", want: "fea"}},
		"a part was read, and it comes where that is": {
			{ref: main, calls: "a*", want: "a*"}, {ref: main, calls: "ea", sees: "e", coverage: "partly", want: "e"},
		},
		"the rest is read then":      {{ref: main, calls: "ab", sees: "a", coverage: "partly", want: "a"}, {ref: main, calls: "a*b", sees: "a", coverage: "partly", want: "a*"}, {ref: main, calls: "e", want: "e"}},
		"muted is hidden then":       {{ref: main, calls: "a~b*", want: "ab*"}, {ref: main, calls: "a~be", sees: "be", coverage: "hides muted", want: "be"}},
		"muted is hidden, the same":  {{ref: main, calls: "a~b*", want: "ab*"}, {ref: main, calls: "a~b", sees: "b", coverage: "hides muted", want: "b*", live: 2}, {ref: main, calls: "a~b", want: "ab*", live: 2}},
		"muted comes first":          {{ref: main, calls: "a~b*", sees: "b", coverage: "hides muted", want: "b*"}, {ref: main, calls: "a~b", want: "ab*"}},
		"muted has its code":         {{ref: main, calls: "a~b*", sees: "b", coverage: "hides muted", want: "b*"}, {ref: main, calls: "a~b", withCode: "ab", want: "ab*"}},
		"muted, then code and a new": {{ref: main, calls: "a~b*", want: "ab*"}, {ref: main, calls: "be", withCode: "be", want: "be"}},
		"a file that is never read whole": {
			{ref: main, calls: "a*b*", want: "a*b*"},
			{ref: main, calls: "abe", coverage: "partly", want: "abe", live: 5},
			{ref: main, calls: "-abe", coverage: "partly", want: "abe", live: 5},
			{ref: main, calls: "--a*be", coverage: "partly", want: "a*be", live: 5},
			{ref: main, calls: "---abe", coverage: "partly", want: "a*be", live: 5},
			{ref: main, calls: "abe", want: "abe", live: 3},
		},
		"another rule looked between":  {{ref: main, calls: "a*", want: "a*"}, {ref: main, calls: "a", sees: "-", coverage: "other rule", want: ""}, {ref: main, calls: "-a", want: "a*"}},
		"missed, then code of as many": {{ref: main, calls: "a*b*", want: "a*b*"}, {ref: main, calls: "ab", sees: "a", coverage: "partly", want: "a"}, {ref: main, calls: "efg", withCode: "efg", want: "efg"}},
		"code is missed, then blind":   {{ref: main, calls: "a*b*", withCode: "ab", want: "a*b*"}, {ref: main, calls: "abe", sees: "e", withCode: "e", coverage: "partly", want: "e"}, {ref: main, calls: "efg", want: "efg"}},
		"code is not read, blind and blind": {
			{ref: main, calls: "a*b*", withCode: "ab", want: "a*b*"},
			{ref: main, calls: "ab", coverage: "partly", want: "ab", live: 4},
			{ref: main, calls: "a*b", coverage: "partly", want: "a*b", live: 4},
			{ref: main, calls: "-ab", coverage: "partly", want: "a*b", live: 4},
		},
		"code was read in part, then blind": {{ref: main, calls: "a*b", sees: "a", withCode: "a", coverage: "partly", want: "a*"}, {ref: main, calls: "e", want: "e"}},
		"code of what a diff scan told":     {{ref: main, calls: "", want: ""}, {ref: dev, calls: "ab*", sees: "b", withCode: "b", coverage: "diff", want: "b*"}, {ref: dev, calls: "e", want: "e"}},
		"another one is known by its code, of another length": {
			{ref: main, calls: "aC", withCode: "aC", want: "aC"}, {ref: main, calls: "eaC", want: "eaC"}, {ref: main, calls: "ea*C", want: "ea*C"}, {ref: main, calls: "-eaC", want: "ea*C"},
		},
	} {
		t.Run(name, func(t *testing.T) { applySteps(t, steps) })
	}
}

// TestFullScansDoNotContinueDiffResults checks that full scans do not continue results of diff scans, nor the
// reverse. Diff scans omit the results of their base, whose number is unknown. E is never decided
// on.
func TestFullScansDoNotContinueDiffResults(t *testing.T) {
	const main, dev = "main", "dev"
	for name, steps := range map[string][]coverageStep{
		"in full":                      {{ref: main, want: ""}, {ref: dev, calls: "a*", coverage: "diff", want: "a*"}, {ref: dev, calls: "-a", want: "a"}},
		"one is put above":             {{ref: main, want: ""}, {ref: dev, calls: "a*", coverage: "diff", want: "a*"}, {ref: dev, calls: "ea", want: "ea"}},
		"the primary branch has one":   {{ref: main, calls: "e", want: "e"}, {ref: dev, calls: "ea*", sees: "a", coverage: "diff", want: "a*"}, {ref: dev, calls: "e", want: "e"}},
		"it was not scanned":           {{ref: dev, calls: "ea*", sees: "a", coverage: "diff", want: "a*"}, {ref: dev, calls: "e", want: "e"}},
		"the scan of that failed":      {{ref: main, calls: "e", sees: "-", coverage: "failed", want: ""}, {ref: dev, calls: "ea*", sees: "a", coverage: "diff", want: "a*"}, {ref: dev, calls: "e", want: "e"}},
		"that was not asked for it":    {{ref: main, calls: "e", sees: "-", coverage: "other rule", want: ""}, {ref: dev, calls: "ea*", sees: "a", coverage: "diff", want: "a*"}, {ref: dev, calls: "e", want: "e"}},
		"on the primary branch":        {{ref: main, calls: "e", sees: "-", coverage: "other rule", want: ""}, {ref: main, calls: "ea*", sees: "a", coverage: "diff", want: "a*"}, {ref: main, calls: "e", want: "e"}},
		"in a diff scan again":         {{ref: main, want: ""}, {ref: dev, calls: "a*", coverage: "diff", want: "a*"}, {ref: dev, calls: "-a", coverage: "diff", want: "a", live: 1}},
		"of a full one, one is put in": {{ref: main, want: ""}, {ref: dev, calls: "a*", want: "a*"}, {ref: dev, calls: "-ea", sees: "e", coverage: "diff", want: "e"}},
		"of a full one, the same":      {{ref: main, want: ""}, {ref: dev, calls: "a*", want: "a*"}, {ref: dev, calls: "-a", coverage: "diff", want: "a", live: 2}, {ref: dev, calls: "-a", want: "a*", live: 1}},
	} {
		t.Run(name, func(t *testing.T) { applySteps(t, steps) })
	}
}

// TestCodelessResultsDoNotJoinLineages checks that code with a separate finding somewhere remains separate,
// regardless of the number of results without code.
func TestCodelessResultsDoNotJoinLineages(t *testing.T) {
	const main, dev = "main", "dev"
	for name, steps := range map[string][]coverageStep{
		"one": {{ref: main, calls: "a", withCode: "a", want: "a"}, {ref: dev, calls: "e*", want: "e*"}, {ref: dev, calls: "a", withCode: "a", want: "a", live: 1}, {ref: main, calls: "a", withCode: "a", want: "a"}},
		"two": {{ref: main, calls: "ab", withCode: "ab", want: "ab"}, {ref: dev, calls: "e*f*", want: "e*f*"}, {ref: dev, calls: "ab", withCode: "ab", want: "ab", live: 2}, {ref: main, calls: "ab", withCode: "ab", want: "ab"}},
		"one of two": {
			{ref: main, calls: "a", withCode: "a", want: "a"}, {ref: dev, calls: "ef*", want: "ef*"}, {ref: dev, calls: "ga", withCode: "ga", want: "ga"}, {ref: main, calls: "a", withCode: "a", want: "a"},
		},
		"none": {{ref: main, calls: "", want: ""}, {ref: dev, calls: "a*", want: "a*"}, {ref: dev, calls: "a", withCode: "a", want: "a*"}, {ref: main, calls: "a", withCode: "a", want: "a*"}},
	} {
		for _, secrets := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " secrets ", secrets), func(t *testing.T) {
				m := newMemory()
				for i, step := range steps {
					if got, live := step.upload(t, m, secrets); got != step.want || step.live != 0 && live != step.live {
						t.Fatalf("scan %d is %q with %d live, want %q with %d", i+1, got, live, step.want, step.live)
					}
				}
			})
		}
	}
}

// applySteps applies scans in order and checks the result of each.
func applySteps(t *testing.T, steps []coverageStep) {
	t.Helper()
	m := newMemory()
	for i, step := range steps {
		got, live := step.apply(t, m)
		if got != step.want || step.live != 0 && live != step.live {
			t.Fatalf("scan %d is %q with %d live, want %q with %d", i+1, got, live, step.want, step.live)
		}
	}
}

func (step coverageStep) apply(t *testing.T, m *memory) (got string, live int) {
	t.Helper()
	return step.upload(t, m, false)
}

// upload scans the calls and ignores those marked by the step. It returns the states of the
// reported calls and the number of findings of the ref.
func (step coverageStep) upload(t *testing.T, m *memory, secrets bool) (got string, living int) {
	t.Helper()
	letters := strings.NewReplacer("*", "", "~", "").Replace(step.calls)
	m.tick(1e9)
	u := Upload{Project: model.Project{Name: "acme/payments"}, Ref: step.ref, Full: !strings.HasSuffix(step.coverage, "diff"), Report: step.report(t, letters, secrets)}
	if _, err := Apply(t.Context(), m, m, u); err != nil {
		t.Fatal(err)
	}
	state := make([]string, len(letters))
	for _, row := range m.rows {
		if row.Ref != model.FullRef(step.ref) || !live(row.State) {
			continue
		}
		living++
		if row.Coverage == model.CoverageMissed || row.Line > len(letters) || !step.includes(letters[row.Line-1]) {
			continue
		}
		letter, triage := letters[row.Line-1:row.Line], &m.lineages[row.LineageID].Triage
		if strings.Contains(step.calls, letter+"*") {
			triage.State = model.TriageIgnored
		}
		if state[row.Line-1] = letter; triage.State == model.TriageIgnored {
			state[row.Line-1] += "*"
		}
	}
	return strings.Join(state, ""), living
}

func (step coverageStep) includes(letter byte) bool {
	return letter != '-' && (step.sees == "" || strings.IndexByte(step.sees, letter) >= 0)
}

// report returns the step's report on a file with a line for each letter.
func (step coverageStep) report(t *testing.T, letters string, secrets bool) *model.Report {
	lines := callsOf(letters)
	r := codelessReport(t, lines)
	r.RulesRun, r.Searched = []string{"no-eval"}, []string{"a.js"}
	switch step.coverage {
	case "partly", "partly diff":
		r.Skipped = r.Searched
	case "failed":
		r.Failed = true
	case "lists nothing":
		r.RulesRun, r.Searched = nil, nil
	case "hides muted":
		r.HidesMuted = true
	case "other rule":
		r.RulesRun = []string{"another"}
	}
	r.HidesMuted = step.coverage == "hides muted"
	var results []model.Result
	for i, one := range r.Results {
		letter := letters[i]
		if !step.includes(letter) {
			continue
		}
		if secrets {
			rule := *one.Rule
			rule.IssueType = model.Secrets
			one.Rule, one.Secret = &rule, &model.SecretMatch{}
		}
		if strings.IndexByte(step.withCode, letter) >= 0 {
			one.Code, one.CodeHash = lines[i], lines[i]
			if secrets {
				one.Secret.Hash[0] = letter
			}
		}
		one.Muted = strings.Contains(step.calls, string(letter)+"~")
		results = append(results, one)
	}
	r.Results = results
	return r
}
