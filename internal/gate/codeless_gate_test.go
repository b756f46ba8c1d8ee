package gate_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/gate"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/reporttest"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// evals is a project whose builds fail on calls of eval, all in one file and of equal length.
type evals struct {
	store  *store.Store
	clock  *storetest.Clock
	tenant int64
}

// evalScan is a report on the file: one letter for each call, each on one line.
type evalScan struct {
	ref     string
	path    string // default a.js
	file    string // letters; - is a line without a call
	sees    string // reported letters
	muted   string // letters muted by nosemgrep
	hasCode bool   // the report contains their code
	part    string // except for these letters
	named   bool   // messages contain the code
	long    bool   // and are several lines, of which the first and last are equal for all letters
	diff    bool   // a diff scan
	mode    string // "": complete; otherwise one of: partly, failed, lists nothing, hides muted

	commit string
	late   bool // started before all others, so it is only recorded
}

// evalState is the state after a scan: by letter, whether it is ignored and whether it fails the
// build.
type evalState struct {
	ignored, blocks map[byte]bool
	lineages        map[byte]int64
	recorded        bool // not applied
}

func (p *evals) given() *policy.EffectivePolicy {
	of := policy.For(model.Project{Name: "acme/payments"}, []model.Policy{{ID: 1, Product: model.SAST}}, []model.ServedRule{{
		PolicyRule: model.PolicyRule{PolicyID: 1, Rule: model.Rule{Name: "no-eval", IssueType: model.SAST}, Mode: model.ModeBlock},
	}})
	return &of
}

// evalGate evaluates an identical upload.
type evalGate struct {
	tx    *store.Tx
	given *policy.EffectivePolicy
	judge **policy.Judge
}

func (g evalGate) Judged(_ context.Context, _ model.Project, ref string) (rules []string, products []model.IssueType, err error) {
	rules, products = g.given.Judged(ref)
	return rules, products, nil
}

func (g evalGate) Judge(ctx context.Context, project model.Project, scan model.Scan, seen []ingest.Sighting) (err error) {
	*g.judge, err = gate.Judge(ctx, g.tx, g.given, project, scan, seen)
	return err
}

// scan applies the report and evaluates the gate.
func (p *evals) scan(t rapid.TB, s evalScan) (out evalState) {
	t.Helper()
	p.clock.Advance(time.Minute)
	out = evalState{ignored: map[byte]bool{}, blocks: map[byte]bool{}, lineages: map[byte]int64{}}
	err := p.store.Update(context.Background(), p.tenant, model.Actor{Kind: "user"}, func(ctx context.Context, tx *store.Tx) error {
		var judge *policy.Judge
		bytes := sha256.Sum256(fmt.Appendf(nil, "%+v", s))
		upload := ingest.Upload{
			Project: model.Project{Name: "acme/payments"}, Ref: s.ref, Commit: s.commit, Full: !s.diff, Report: s.report(t), Digest: model.Digest(bytes[:16]),
			Before: func(ctx context.Context, project model.Project, scan model.Scan, seen []ingest.Sighting) (err error) {
				judge, err = gate.Judge(ctx, tx, p.given(), project, scan, seen)
				return err
			},
		}
		summary, known, err := gate.Identical(ctx, tx, evalGate{tx, p.given(), &judge}, upload)
		if err == nil && !known {
			summary, err = ingest.Apply(ctx, tx, exceptions.ForImport{Store: tx}, upload)
		}
		if err != nil {
			return err
		}
		verdict, err := gate.Verdict(ctx, judge, &summary)
		if err != nil {
			return err
		}
		for _, b := range verdict.Blocking {
			out.blocks[s.file[b.Finding.Line-1]] = true
			if b.Finding.ID == 0 && !summary.Outcome.Recorded() {
				return fmt.Errorf("%+v is %s: it fails on line %d, of which it knows no finding", s, summary.Outcome, b.Finding.Line)
			}
		}
		if out.recorded = summary.Outcome.Recorded(); out.recorded {
			return nil // its lines belong to no finding
		}
		rows, err := tx.Findings(ctx, summary.ProjectID, summary.Ref, summary.Source)
		if err != nil {
			return err
		}
		account, err := tx.ScanAccount(ctx, summary.ScanID)
		if err != nil {
			return err
		}
		for _, f := range rows {
			if !slices.Contains(account.Reported, f.ID) {
				continue
			}
			lineages, err := tx.Lineages(ctx, []int64{f.LineageID})
			if err != nil {
				return err
			}
			letter := s.file[f.Line-1]
			out.lineages[letter], out.ignored[letter] = f.LineageID, lineages[f.LineageID].Triage.State == model.TriageIgnored
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// ignore sets a lineage to ignored.
func (p *evals) ignore(t rapid.TB, lineage int64) {
	t.Helper()
	by := model.Actor{Kind: "user"}
	err := p.store.Update(context.Background(), p.tenant, by, func(ctx context.Context, tx *store.Tx) error {
		return tx.UpdateTriage(ctx, []model.TriageEvent{{
			LineageID: lineage, At: tx.Now(), By: by, Before: model.Triage{State: model.TriageUntriaged}, After: model.Triage{State: model.TriageIgnored, At: tx.Now()},
		}})
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (s evalScan) name() string { return cmp.Or(s.path, "a.js") }

// report returns a Semgrep report as written without a login, which has no code, with the code of
// s.told added.
func (s evalScan) report(t rapid.TB) *model.Report {
	t.Helper()
	var results []reporttest.Result
	var lines []int
	for i := range len(s.file) {
		if strings.IndexByte(s.sees, s.file[i]) < 0 {
			continue
		}
		lines = append(lines, i)
		message := "no eval"
		if s.named {
			message = "eval of " + s.file[i:i+1]
		}
		results = append(results, reporttest.Result{
			Rule: "no-eval", Path: s.name(), Line: i + 1, EndColumn: 8, Offset: 100 * i, Message: message,
		})
	}
	text := reporttest.SemgrepOf([]string{s.name()}, results...)
	reports, err := report.Read(bytes.NewReader(text), report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := reports[0]
	for i := range r.Results {
		one, letter := &r.Results[i], s.file[lines[i]]
		if s.hasCode && strings.IndexByte(s.part, letter) < 0 {
			one.Code = fmt.Sprintf("eval(%c)", letter)
			one.CodeHash = one.Code
		}
		if s.long {
			one.MatchBasedID, one.StartHash, one.EndHash = "group_0", "first", "last"
			one.Location.EndLine += 4
		}
		one.Muted = strings.IndexByte(s.muted, letter) >= 0
	}
	r.RulesRun, r.Searched, r.HidesMuted, r.Failed = []string{"no-eval"}, []string{s.name()}, s.mode == "hides muted", s.mode == "failed"
	if s.late {
		r.StartedAt = storetest.NewClock().Now()
	}
	switch s.mode {
	case "partly":
		r.Skipped = r.Searched
	case "lists nothing":
		r.RulesRun, r.Searched = nil, nil
	}
	return r
}

func newEvals(t testing.TB, engine string) *evals {
	clock := storetest.NewClock()
	s := storetest.Open(t, storetest.Database(t, engine, clock))
	return &evals{s, clock, storetest.Deployment(t, s).ID}
}

// TestIgnoredCodeInReportWithoutCode checks that ignored code and code of the primary branch pass in a
// report without code, also if it is repeated.
func TestIgnoredCodeInReportWithoutCode(t *testing.T) {
	for _, engine := range storetest.Engines {
		for name, test := range map[string]struct {
			first, second evalScan
			ignore        string
			blocks        string
		}{
			"decided":                 {evalScan{ref: "main", file: "a", sees: "a", hasCode: true}, evalScan{ref: "main", file: "-a", sees: "a"}, "a", ""},
			"decided on a branch":     {evalScan{ref: "dev", file: "ab", sees: "ab", hasCode: true}, evalScan{ref: "dev", file: "-ab", sees: "ab"}, "a", "b"},
			"decided in a diff scan":  {evalScan{ref: "dev", file: "ab", sees: "ab", hasCode: true, diff: true}, evalScan{ref: "dev", file: "-ab", sees: "ab", diff: true}, "a", "ab"},
			"of the primary branch":   {evalScan{ref: "dev", file: "mn", sees: "mn", hasCode: true}, evalScan{ref: "dev", file: "-mn", sees: "mn"}, "", ""},
			"told again":              {evalScan{ref: "dev", file: "ab", sees: "ab"}, evalScan{ref: "dev", file: "-ab", sees: "ab", hasCode: true}, "a", "b"},
			"one more":                {evalScan{ref: "dev", file: "a", sees: "a", hasCode: true}, evalScan{ref: "dev", file: "ea", sees: "ea"}, "a", "ea"},
			"one more in a diff scan": {evalScan{ref: "dev", file: "a", sees: "a", hasCode: true, diff: true}, evalScan{ref: "dev", file: "ea", sees: "ea", diff: true}, "a", "ea"},
		} {
			t.Run(engine+" "+name, func(t *testing.T) {
				p := newEvals(t, engine)
				p.scan(t, evalScan{ref: "main", file: "mn", sees: "mn", hasCode: true})
				for letter, lineage := range p.scan(t, test.first).lineages {
					if strings.IndexByte(test.ignore, letter) >= 0 {
						p.ignore(t, lineage)
					}
				}
				for range 2 { // the second upload is identical
					now := p.scan(t, test.second)
					for _, letter := range []byte(test.second.sees) {
						if want := strings.IndexByte(test.blocks, letter) >= 0; now.blocks[letter] != want {
							t.Errorf("%c fails the build: %v, want %v", letter, now.blocks[letter], want)
						}
					}
				}
			})
		}
	}
}

// TestIgnoredCodeInRecordedScan checks the gate for late and superseded scans.
// They are evaluated by the findings they would have if they were applied, and write no findings.
func TestIgnoredCodeInRecordedScan(t *testing.T) {
	for _, engine := range storetest.Engines {
		for name, test := range map[string]struct {
			first, second evalScan
			blocks        string
		}{
			"late":                    {evalScan{ref: "dev", file: "ab", sees: "ab", hasCode: true}, evalScan{ref: "dev", file: "-ab", sees: "ab", late: true}, "b"},
			"late, blind before":      {evalScan{ref: "dev", file: "ab", sees: "ab"}, evalScan{ref: "dev", file: "-ab", sees: "ab", late: true}, "b"},
			"late, with its code":     {evalScan{ref: "dev", file: "ab", sees: "ab"}, evalScan{ref: "dev", file: "-ab", sees: "ab", hasCode: true, late: true}, "b"},
			"late, in a diff scan":    {evalScan{ref: "dev", file: "ab", sees: "ab", hasCode: true, diff: true}, evalScan{ref: "dev", file: "-ab", sees: "ab", diff: true, late: true}, "ab"},
			"late, with one more":     {evalScan{ref: "dev", file: "ab", sees: "ab", hasCode: true}, evalScan{ref: "dev", file: "eab", sees: "eab", late: true}, "eab"},
			"late, of the primary":    {evalScan{ref: "dev", file: "mn", sees: "mn", hasCode: true}, evalScan{ref: "dev", file: "-mn", sees: "mn", late: true}, ""},
			"superseded":              {evalScan{ref: "dev", file: "ab", sees: "ab", hasCode: true, commit: "2"}, evalScan{ref: "dev", file: "-ab", sees: "ab", commit: "1"}, "b"},
			"superseded, one more":    {evalScan{ref: "dev", file: "ab", sees: "ab", hasCode: true, commit: "2"}, evalScan{ref: "dev", file: "eab", sees: "eab", commit: "1"}, "eab"},
			"superseded, others told": {evalScan{ref: "dev", file: "ab", sees: "ab", hasCode: true, commit: "2"}, evalScan{ref: "dev", file: "a", sees: "a", commit: "1"}, "a"},
		} {
			t.Run(engine+" "+name, func(t *testing.T) {
				p := newEvals(t, engine)
				p.scan(t, evalScan{ref: "main", file: "mn", sees: "mn", hasCode: true})
				if test.first.commit != "" {
					p.scan(t, evalScan{ref: "dev", file: "-", hasCode: true, commit: test.second.commit})
				}
				if lineage := p.scan(t, test.first).lineages['a']; lineage != 0 {
					p.ignore(t, lineage)
				}
				before := p.findings(t)
				now := p.scan(t, test.second)
				for _, letter := range []byte(test.second.sees) {
					if want := strings.IndexByte(test.blocks, letter) >= 0; now.blocks[letter] != want || !now.recorded {
						t.Errorf("%c fails the build: %v, want %v; recorded only: %v", letter, now.blocks[letter], want, now.recorded)
					}
				}
				if diff := gocmp.Diff(before, p.findings(t)); diff != "" {
					t.Errorf("findings (-before +after)\n%s", diff)
				}
			})
		}
	}
}

// TestEditedLongMatchIsNewInRecordedScan checks that a branch that is reset
// to a failed commit fails again, whatever happened to the match since.
func TestEditedLongMatchIsNewInRecordedScan(t *testing.T) {
	for _, engine := range storetest.Engines {
		for name, steps := range map[string][]evalScan{
			"superseded": {{file: "e", commit: "1"}, {file: "m", commit: "2"}, {file: "e", commit: "1"}},
			"late":       {{file: "m"}, {file: "e", late: true}},
			"it counts":  {{file: "m"}, {file: "e"}},
		} {
			t.Run(engine+" "+name, func(t *testing.T) {
				p := newEvals(t, engine)
				p.scan(t, evalScan{ref: "main", file: "m", sees: "m", hasCode: true, long: true})
				for i, s := range steps {
					s.ref, s.sees, s.hasCode, s.long = "dev", s.file, true, true
					if now := p.scan(t, s); now.blocks[s.file[0]] != (s.file == "e") {
						t.Errorf("scan %d of %s fails the build: %v", i+1, s.file, now.blocks[s.file[0]])
					}
				}
			})
		}
	}
}

// TestCopyIsNewInRecordedScan moves ignored code on another branch, so that the
// decision follows to the new location. The new location in addition to the old one is a copy, and
// fails the build whether or not the scan is applied.
func TestCopyIsNewInRecordedScan(t *testing.T) {
	for _, engine := range storetest.Engines {
		for name, test := range map[string]struct {
			now    evalScan
			blocks bool
		}{
			"a diff scan":               {evalScan{path: "b.js", diff: true}, true},
			"a diff scan, late":         {evalScan{path: "b.js", diff: true, late: true}, true},
			"a diff scan, superseded":   {evalScan{path: "b.js", diff: true, commit: "1"}, true},
			"the old place, superseded": {evalScan{diff: true, commit: "1"}, false},
		} {
			t.Run(engine+" "+name, func(t *testing.T) {
				p := newEvals(t, engine)
				p.ignore(t, p.scan(t, evalScan{ref: "main", file: "a", sees: "a", hasCode: true}).lineages['a'])
				p.scan(t, evalScan{ref: "moved", file: "a", sees: "a", hasCode: true})
				p.scan(t, evalScan{ref: "moved", path: "b.js", file: "a", sees: "a", hasCode: true})
				p.scan(t, evalScan{ref: "dev", file: "-", diff: true, commit: test.now.commit})
				p.scan(t, evalScan{ref: "dev", file: "-", diff: true, commit: "2"})
				s := test.now
				s.ref, s.file, s.sees, s.hasCode = "dev", "a", "a", true
				now := p.scan(t, s)
				if now.recorded != (s.late || s.commit != "") || now.blocks['a'] != test.blocks {
					t.Errorf("recorded only: %v; fails the build: %v, want %v", now.recorded, now.blocks['a'], test.blocks)
				}
			})
		}
	}
}

// TestFullScanDoesNotContinueDiffFindings checks that a full scan without code does not
// continue findings of a diff scan. The base may have had its results before.
func TestFullScanDoesNotContinueDiffFindings(t *testing.T) {
	for _, engine := range storetest.Engines {
		for name, test := range map[string]struct{ main, full, blocks string }{
			"the same":                       {"-", "--a", "a"},
			"one is put above":               {"-", "ea", "ea"},
			"the primary branch has another": {"m", "--a", "a"},
		} {
			t.Run(engine+" "+name, func(t *testing.T) {
				p := newEvals(t, engine)
				p.scan(t, evalScan{ref: "main", file: test.main, sees: strings.Trim(test.main, "-")})
				lineage := p.scan(t, evalScan{ref: "dev", file: "-a", sees: "a", diff: true}).lineages['a']
				p.ignore(t, lineage)
				for range 2 {
					now := p.scan(t, evalScan{ref: "dev", file: test.full, sees: strings.Trim(test.full, "-")})
					for _, letter := range []byte(strings.Trim(test.full, "-")) {
						if want := strings.IndexByte(test.blocks, letter) >= 0; now.blocks[letter] != want || now.ignored[letter] == want {
							t.Errorf("%c fails the build: %v, want %v; ignored: %v", letter, now.blocks[letter], want, now.ignored[letter])
						}
					}
				}
			})
		}
	}
}

// findings returns all findings of the branch dev.
func (p *evals) findings(t testing.TB) (list []model.Finding) {
	t.Helper()
	err := p.store.View(t.Context(), p.tenant, func(ctx context.Context, tx *store.Tx) error {
		project, err := tx.ProjectByName(ctx, "acme/payments")
		if err != nil {
			return err
		}
		list, err = tx.Findings(ctx, project.ID, "refs/heads/dev", "semgrep")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestNewCodeInRepeatedPartialScan checks that new code does not inherit a decision on a
// result without code, if another result of the same scan is recognized by its code.
func TestNewCodeInRepeatedPartialScan(t *testing.T) {
	p := newEvals(t, storetest.Engines[0])
	for _, s := range []evalScan{
		{ref: "main", file: "ab", sees: "ab", hasCode: true},
		{ref: "main", file: "ab", sees: "ab"},
		{ref: "main", file: "abc", sees: "b", mode: "partly"},
	} {
		for _, lineage := range p.scan(t, s).lineages {
			p.ignore(t, lineage)
		}
	}
	now := p.scan(t, evalScan{ref: "main", file: "abc", sees: "bc", hasCode: true, mode: "failed"})
	if !now.ignored['b'] || now.ignored['c'] || !now.blocks['c'] {
		t.Errorf("ignored: %v, blocking: %v", now.ignored, now.blocks)
	}
}
