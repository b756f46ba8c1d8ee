package edge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/edge"
	"github.com/redoubt/redoubt/internal/exemption"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/storetest"
)

// evals is a project whose builds fail on calls of eval, all in one file and of one length.
type evals struct {
	store  *store.Store
	clock  *storetest.Clock
	tenant int64
}

// evalScan is what a report tells of the file: a letter for each call, in its line.
type evalScan struct {
	ref   string
	file  string // letters; - is a line without a call
	sees  string // those that it tells
	muted string // those that nosemgrep mutes
	told  bool   // it tells their code
	look  string // "": all was read; else one of: partly, failed, lists nothing, hides muted, diff
}

// evalState is how what a scan told stands then: by letter, whether people ignore it, and
// whether the gate fails the build on it.
type evalState struct {
	ignored, blocks map[byte]bool
	lineages        map[byte]int64
}

func (p *evals) given() *policy.EffectivePolicy {
	of := policy.For(redoubt.Project{Name: "acme/payments"}, []redoubt.Policy{{ID: 1, Product: redoubt.SAST}}, []redoubt.ServedRule{{
		PolicyRule: redoubt.PolicyRule{PolicyID: 1, Rule: redoubt.Rule{Name: "no-eval", IssueType: redoubt.SAST}, Mode: redoubt.ModeBlock},
	}})
	return &of
}

// scan applies the report and asks the gate.
func (p *evals) scan(t rapid.TB, s evalScan) (out evalState) {
	t.Helper()
	p.clock.Advance(time.Minute)
	out = evalState{map[byte]bool{}, map[byte]bool{}, map[byte]int64{}}
	err := p.store.Update(context.Background(), p.tenant, redoubt.Actor{Kind: "user"}, func(ctx context.Context, tx *store.Tx) error {
		var judge *policy.Judge
		summary, err := ingest.Apply(ctx, tx, exemption.ForImport{Store: tx}, ingest.Upload{
			Project: redoubt.Project{Name: "acme/payments"}, Ref: s.ref, Full: s.look != "diff", Report: s.report(t),
			Before: func(ctx context.Context, project redoubt.Project, scan redoubt.Scan, seen []ingest.Sighting) (err error) {
				judge, err = edge.Judge(ctx, tx, p.given(), project, scan, seen)
				return err
			},
		})
		if err != nil {
			return err
		}
		verdict, err := edge.Verdict(ctx, judge, &summary)
		if err != nil {
			return err
		}
		for _, b := range verdict.Blocking {
			out.blocks[s.file[b.Finding.Line-1]] = true
			if b.Finding.ID == 0 {
				return fmt.Errorf("it fails on line %d, of which it knows no finding", b.Finding.Line)
			}
		}
		rows, err := tx.Findings(ctx, summary.ProjectID, summary.Ref, summary.Source)
		if err != nil {
			return err
		}
		for _, f := range rows {
			if f.State != redoubt.Unresolved && f.State != redoubt.Muted || f.Coverage == redoubt.CoverageMissed || f.Line > len(s.file) || strings.IndexByte(s.sees, s.file[f.Line-1]) < 0 {
				continue
			}
			lineages, err := tx.Lineages(ctx, []int64{f.LineageID})
			if err != nil {
				return err
			}
			letter := s.file[f.Line-1]
			out.lineages[letter], out.ignored[letter] = f.LineageID, lineages[f.LineageID].Triage.State == redoubt.TriageIgnored
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// ignore decides on a lineage.
func (p *evals) ignore(t rapid.TB, lineage int64) {
	t.Helper()
	by := redoubt.Actor{Kind: "user"}
	err := p.store.Update(context.Background(), p.tenant, by, func(ctx context.Context, tx *store.Tx) error {
		return tx.UpdateTriage(ctx, []redoubt.TriageEvent{{
			LineageID: lineage, At: tx.Now(), By: by, Before: redoubt.Triage{State: redoubt.TriageUntriaged}, After: redoubt.Triage{State: redoubt.TriageIgnored, At: tx.Now()},
		}})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// report is what semgrep writes where nobody is logged in; of what is told it adds the code.
func (s evalScan) report(t rapid.TB) *redoubt.Report {
	t.Helper()
	results := []any{}
	var told []int
	for i := range len(s.file) {
		if strings.IndexByte(s.sees, s.file[i]) < 0 {
			continue
		}
		told = append(told, i)
		results = append(results, map[string]any{
			"check_id": "no-eval", "path": "a.js",
			"start": map[string]any{"line": i + 1, "col": 1, "offset": 100 * i}, "end": map[string]any{"line": i + 1, "col": 8, "offset": 100*i + 7},
			"extra": map[string]any{"message": "no eval", "metadata": map[string]any{}, "severity": "ERROR", "fingerprint": "requires login", "lines": "requires login"},
		})
	}
	text, err := json.Marshal(map[string]any{"version": "1.180.0", "results": results, "errors": []any{}, "paths": map[string]any{"scanned": []string{"a.js"}}})
	if err != nil {
		t.Fatal(err)
	}
	reports, err := report.Read(strings.NewReader(string(text)), report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := reports[0]
	for i := range r.Results {
		one, letter := &r.Results[i], s.file[told[i]]
		if s.told {
			one.Code = fmt.Sprintf("eval(%c)", letter)
			one.CodeHash = one.Code
		}
		one.Muted = strings.IndexByte(s.muted, letter) >= 0
	}
	r.RulesRun, r.Searched, r.HidesMuted, r.Failed = []string{"no-eval"}, []string{"a.js"}, s.look == "hides muted", s.look == "failed"
	switch s.look {
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

// TestIgnoredCodePassesUntold: what was decided, and what the primary branch has, passes
// though a report does not tell its code, also when it comes again.
func TestIgnoredCodePassesUntold(t *testing.T) {
	for _, engine := range storetest.Engines {
		for name, test := range map[string]struct {
			first, second evalScan
			ignore        string
			blocks        string
		}{
			"decided":                 {evalScan{ref: "main", file: "a", sees: "a", told: true}, evalScan{ref: "main", file: "-a", sees: "a"}, "a", ""},
			"decided on a branch":     {evalScan{ref: "dev", file: "ab", sees: "ab", told: true}, evalScan{ref: "dev", file: "-ab", sees: "ab"}, "a", "b"},
			"decided in a diff scan":  {evalScan{ref: "dev", file: "ab", sees: "ab", told: true, look: "diff"}, evalScan{ref: "dev", file: "-ab", sees: "ab", look: "diff"}, "a", "b"},
			"of the primary branch":   {evalScan{ref: "dev", file: "mn", sees: "mn", told: true}, evalScan{ref: "dev", file: "-mn", sees: "mn"}, "", ""},
			"told again":              {evalScan{ref: "dev", file: "ab", sees: "ab"}, evalScan{ref: "dev", file: "-ab", sees: "ab", told: true}, "a", "b"},
			"one more":                {evalScan{ref: "dev", file: "a", sees: "a", told: true}, evalScan{ref: "dev", file: "ea", sees: "ea"}, "a", "ea"},
			"one more in a diff scan": {evalScan{ref: "dev", file: "a", sees: "a", told: true, look: "diff"}, evalScan{ref: "dev", file: "ea", sees: "ea", look: "diff"}, "a", "ea"},
		} {
			t.Run(engine+" "+name, func(t *testing.T) {
				p := newEvals(t, engine)
				p.scan(t, evalScan{ref: "main", file: "mn", sees: "mn", told: true})
				for letter, lineage := range p.scan(t, test.first).lineages {
					if strings.IndexByte(test.ignore, letter) >= 0 {
						p.ignore(t, lineage)
					}
				}
				for range 2 { // the second is the same upload again
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

// look is what a scan told of what is muted, or of what is not.
type look struct {
	sees    string
	partly  bool
	told    bool
	counted bool // there was one
}

// evalRef is a branch that people work on.
type evalRef struct {
	file, muted string
	had         bool    // a finding
	coded       bool    // a report told code
	last        [2]look // of what is not muted, and of what is
}

// evalWorld is what people do, and what may be said of it.
type evalWorld struct {
	refs    map[string]*evalRef
	next    byte
	decided map[byte]bool // somewhere
	told    map[byte]bool
}

// step draws work on a branch and a scan of it. Where as many are told as before and they
// are others, nobody can notice (semantics §4): no such scan is drawn.
func (w *evalWorld) step(t *rapid.T) (s evalScan, ok bool) {
	s.ref = rapid.SampledFrom([]string{"main", "dev"}).Draw(t, "ref")
	r := w.refs[s.ref]
	for range rapid.IntRange(0, 2).Draw(t, "edits") {
		w.edit(t, r)
	}
	s.file, s.muted, s.told = r.file, r.muted, rapid.Bool().Draw(t, "told")
	s.look = rapid.SampledFrom([]string{"", "", "", "partly", "failed", "lists nothing", "hides muted"}).Draw(t, "look")
	for _, letter := range []byte(r.file) {
		hidden := s.look == "hides muted" && strings.IndexByte(r.muted, letter) >= 0
		unread := (s.look == "partly" || s.look == "failed") && rapid.IntRange(0, 3).Draw(t, "unread") == 0
		if letter != '-' && !hidden && !unread {
			s.sees += string(letter)
		}
	}
	for i, now := range s.looks() {
		last := w.before(s.ref)[i]
		if last.counted && now.partly == last.partly && len(now.sees) == len(last.sees) && !sameLetters(now.sees, last.sees) {
			return s, false
		}
	}
	return s, true
}

// before is the look that a scan of a ref is compared with.
func (w *evalWorld) before(ref string) [2]look {
	if r := w.refs[ref]; r.had {
		return r.last
	}
	return w.refs["main"].last
}

func (w *evalWorld) edit(t *rapid.T, r *evalRef) {
	at := rapid.IntRange(0, len(r.file)).Draw(t, "at")
	switch op := rapid.IntRange(0, 5).Draw(t, "edit"); {
	case op <= 1 && w.next <= 'z':
		r.file = r.file[:at] + string(w.next) + r.file[at:]
		w.next++
	case op == 2:
		r.file = r.file[:at] + "-" + r.file[at:]
	case at == len(r.file):
	case op == 3:
		r.file = r.file[:at] + r.file[at+1:]
	case op == 4 && strings.Contains(r.muted, r.file[at:at+1]):
		r.muted = strings.ReplaceAll(r.muted, r.file[at:at+1], "")
	case op == 4 && r.file[at] != '-':
		r.muted += r.file[at : at+1]
	case op == 5:
		r.file, r.muted = w.refs["main"].file, w.refs["main"].muted
	}
}

// looks are what the scan tells of what is not muted, and of what is.
func (s evalScan) looks() (out [2]look) {
	for i := range out {
		out[i] = look{partly: s.look == "partly" || s.look == "failed", told: s.told, counted: i == 0 || s.look != "hides muted"}
	}
	for _, letter := range []byte(s.sees) {
		one := &out[0]
		if strings.IndexByte(s.muted, letter) >= 0 {
			one = &out[1]
		}
		one.sees += string(letter)
	}
	return out
}

func sameLetters(a, b string) bool {
	x, y := []byte(a), []byte(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// check holds what came of a scan to the promises: new code is open and fails the build;
// what was decided, and what a report may know, stays and passes.
func (w *evalWorld) check(t *rapid.T, s evalScan, now evalState, then evalState) {
	last := w.refs[s.ref].last[0]
	// What is known by its code and told without pairs where it would close.
	known := last.counted && last.told == s.told && last.partly == s.looks()[0].partly && sameLetters(last.sees, s.looks()[0].sees) &&
		(s.told || s.look != "lists nothing" || !w.refs[s.ref].coded)
	for _, letter := range []byte(s.looks()[0].sees) {
		switch {
		case now.lineages[letter] == 0:
			t.Fatalf("%c is nowhere after %+v", letter, s)
		case !w.decided[letter] && now.ignored[letter]:
			t.Fatalf("%c is ignored after %+v, and nobody decided on it", letter, s)
		case !w.told[letter] && !now.blocks[letter]:
			t.Fatalf("%c is new in %+v and passes", letter, s)
		}
		if then.ignored[letter] && known && (!now.ignored[letter] || now.blocks[letter]) {
			t.Fatalf("%c was ignored and the same is told in %+v: ignored %v, fails %v", letter, s, now.ignored[letter], now.blocks[letter])
		}
	}
}

// TestBlindReportsAtTheGate: whatever reports tell, read and mute, no new code is hidden,
// and no decision goes over to other code.
func TestBlindReportsAtTheGate(t *testing.T) {
	p := newEvals(t, storetest.Engines[0])
	tenants := 0
	rapid.Check(t, func(t *rapid.T) {
		tenants++
		d, err := p.store.CreateDeployment(t.Context(), fmt.Sprint("tenant-", tenants), "", storetest.Actor)
		if err != nil {
			t.Fatal(err)
		}
		p := &evals{p.store, p.clock, d.ID}
		w := evalWorld{refs: map[string]*evalRef{"main": {file: "ab"}, "dev": {file: "ab"}}, next: 'c', decided: map[byte]bool{}, told: map[byte]bool{'a': true, 'b': true}}
		then := map[string]evalState{"dev": {}}
		take := func(s evalScan) {
			now := p.scan(t, s)
			w.check(t, s, now, then[s.ref])
			r := w.refs[s.ref]
			r.coded = r.coded || s.told
			for i, one := range s.looks() {
				if one.counted {
					r.last[i] = one
				}
			}
			for _, letter := range []byte(s.sees) {
				w.told[letter], r.had = true, true
				if strings.IndexByte(s.muted, letter) < 0 && rapid.IntRange(0, 3).Draw(t, "ignore") == 0 {
					p.ignore(t, now.lineages[letter])
					w.decided[letter], now.ignored[letter] = true, true
				}
			}
			then[s.ref] = now
		}
		take(evalScan{ref: "main", file: "ab", sees: "ab", told: rapid.Bool().Draw(t, "first told")})
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			if s, ok := w.step(t); ok {
				take(s)
			}
		}
	})
}
