package ingest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/storetest"
)

var memoChecks = flag.Int("memo.checks", 25, "random histories of reports for each engine, with and without memos")

// memoState is all that a tenant holds, with ids by their order: a transaction that was
// given up leaves gaps.
type memoState struct {
	Findings []redoubt.Finding
	Bodies   map[int64]redoubt.FindingWrite
	Lineages []redoubt.Lineage
	Events   []redoubt.FindingEvent
	Trail    []redoubt.TriageEvent
	Scans    []redoubt.Scan
	Reported [][]int64
	Rules    []redoubt.Rule
}

// ranks numbers ids by their order.
func ranks(ids []int64) map[int64]int64 {
	out := map[int64]int64{0: 0}
	slices.Sort(ids)
	for i, id := range slices.Compact(ids) {
		out[id] = int64(i + 1)
	}
	return out
}

func (r *memoRealm) state() (s memoState) {
	r.tb.Helper()
	var ids, lineages, rules, scans []int64
	var one sync.Mutex
	_, _, err := r.store.Feed(r.tb.Context(), r.tenant, 0, func(b *redoubt.Batch) error {
		one.Lock()
		defer one.Unlock()
		for _, f := range b.Findings {
			ids = append(ids, f.ID)
		}
		for _, l := range b.Lineages {
			lineages = append(lineages, l.ID)
		}
		return nil
	})
	if err != nil {
		r.tb.Fatal(err)
	}
	slices.Sort(ids)
	r.view(func(ctx context.Context, tx *store.Tx) error {
		var errs []error
		note := func(err error) { errs = append(errs, err) }
		s.Findings, err = tx.FindingsByID(ctx, ids)
		note(err)
		s.Bodies, err = tx.FindingBodies(ctx, ids)
		note(err)
		byID, err := tx.Lineages(ctx, lineages)
		note(err)
		slices.Sort(lineages)
		for _, id := range lineages {
			s.Lineages = append(s.Lineages, byID[id])
			trail, err := tx.TriageTrail(ctx, id)
			note(err)
			s.Trail = append(s.Trail, trail...)
		}
		for _, id := range ids {
			lines, err := tx.History(ctx, id)
			note(err)
			for _, line := range lines {
				s.Events = append(s.Events, line.FindingEvent)
			}
		}
		s.Scans, _, err = tx.Scans(ctx, redoubt.ScanFilter{}, store.ScanCursor{}, 1000)
		note(err)
		slices.SortFunc(s.Scans, func(a, b redoubt.Scan) int { return int(a.ID - b.ID) })
		for _, scan := range s.Scans {
			scans = append(scans, scan.ID)
			account, err := tx.ScanAccount(ctx, scan.ID)
			note(err)
			s.Reported = append(s.Reported, account.Reported)
		}
		for i := range s.Findings {
			rules = append(rules, s.Findings[i].RuleID)
		}
		for _, id := range slices.Compact(slices.Sorted(slices.Values(rules))) {
			rule, err := tx.Rule(ctx, id)
			note(err)
			s.Rules = append(s.Rules, rule)
		}
		return errors.Join(errs...)
	})
	s.rank(ranks(lineages), ranks(rules), ranks(scans))
	return s
}

func (s *memoState) rank(lineages, rules, scans map[int64]int64) {
	for i := range s.Findings {
		f := &s.Findings[i]
		f.LineageID, f.RuleID, f.FirstScanID, f.ProjectID = lineages[f.LineageID], rules[f.RuleID], scans[f.FirstScanID], 0
	}
	by := func(a redoubt.Actor) redoubt.Actor {
		if id, err := strconv.ParseInt(a.ID, 10, 64); err == nil && a.Kind == "scan" {
			a.ID = fmt.Sprint(scans[id])
		}
		return a
	}
	for i := range s.Lineages {
		l := &s.Lineages[i]
		l.ID, l.ProjectID, l.Triage.By = lineages[l.ID], 0, by(l.Triage.By)
	}
	for i := range s.Events {
		e := &s.Events[i]
		e.ScanID = scans[e.ScanID]
	}
	for i := range s.Trail {
		e := &s.Trail[i]
		e.ID, e.LineageID, e.By, e.Before.By, e.After.By = 0, lineages[e.LineageID], by(e.By), by(e.Before.By), by(e.After.By)
	}
	for i := range s.Scans {
		s.Scans[i].ID, s.Scans[i].ProjectID = scans[s.Scans[i].ID], 0
	}
	for i := range s.Rules {
		s.Rules[i].ID = rules[s.Rules[i].ID]
	}
}

// memoStep does one thing to a tenant and says what came of it.
type memoStep func(r *memoRealm) any

// reporter draws reports that have much in common with the last one.
type reporter struct {
	t     *rapid.T
	lists map[string][]string // by ref
	texts map[string]string   // of rules
	sent  []memoStep
	n     int
}

func (p *reporter) draw(name string, of ...string) string {
	return rapid.SampledFrom(of).Draw(p.t, name)
}

func (p *reporter) result() string {
	rule, path := p.draw("rule", "r.one", "r.two", "r.one", "r.three", "r.four"), p.draw("path", "a.py", "b.py", "c.py", "d.py")
	line := rapid.IntRange(1, 5).Draw(p.t, "line")
	code := p.draw("code", "f(1)", "f(1)", "f(2)", "h(3)", "i(4)", "  f(2)", "g(x,\n  y)", "h == h", "password = 'Hunter2-Hunter2-x9'",
		"k = 'ghp_0123456789abcdefghij0123456789abcdef'", "see Hunter2-Hunter2-x9", "https://me:Passw0rd-17x@host/x", "say Passw0rd-17x")
	more := p.draw("more", "", "", "", `,"is_ignored":true`, `,"fingerprint":"aaaa_0"`, `,"fingerprint":"aaaa_1"`, `,"fingerprint":"bbbb_0"`,
		`,"metavars":{"$X":{"abstract_content":"h"}}`, `,"metavars":{"$X":{"abstract_content":"Hunter2-Hunter2-x9"}}`, `,"engine_kind":"PRO"`)
	code = strings.ReplaceAll(code, `\n`, "\n")
	switch p.draw("kind", "plain", "plain", "plain", "plain", "plain", "plain", "plain", "plain", "plain", "plain", "plain", "plain", "plain", "plain", "secret", "odd", "refused", "metadata", "previous", "sca") {
	case "secret":
		return strings.Replace(memoResult(rule+".s", path, line, "Hunter2-Hunter2-x9", ""), `"metadata":{`, `"metadata":{"product":"secrets",`, 1)
	case "odd": // which the decoder has to read
		return strings.Replace(memoResult(rule, path, line, code, more), `"check_id"`, `"path":"d.py","check_id"`, 1)
	case "refused":
		return memoResult(rule, p.draw("no path", "", "../x", "/abs"), line, code, more)
	case "metadata":
		return strings.Replace(memoResult(rule, path, line, code, more), `"metadata":{`, `"metadata":{"cwe":["CWE-79"],`, 1)
	case "previous":
		return strings.Replace(memoResult(rule, path, line, code, more), `"metadata":{`, `"metadata":{"semgrep.dev":{"src":"previous-scan","rule":{"rule_name":"r.one"}},`, 1)
	case "sca":
		return memoResult(rule+".d", path, line, code, `,"sca_info":{"reachable":true,"sca_finding_schema":1,"dependency_match":{"dependency_pattern":{"ecosystem":"npm","package":"p"},"found_dependency":{"package":"p","version":"1.0.0","ecosystem":"npm","allowed_hashes":{},"transitivity":"direct"},"lockfile":"package-lock.json"}}`)
	}
	return memoResult(rule, path, line, code, more)
}

// change changes the list of a ref a little.
func (p *reporter) change(list []string) []string {
	list = slices.Clone(list)
	for range rapid.IntRange(0, 2).Draw(p.t, "changes") {
		if len(list) < 8 {
			for range 5 {
				list = append(list, p.result())
			}
			continue
		}
		at, to := rapid.IntRange(0, len(list)-1).Draw(p.t, "at"), rapid.IntRange(0, len(list)-1).Draw(p.t, "to")
		switch p.draw("change", "insert", "insert", "delete", "move", "swap", "edit", "twice", "line") {
		case "insert":
			list = slices.Insert(list, at, p.result())
		case "delete":
			list = slices.Delete(list, at, at+1)
		case "move":
			one := list[at]
			list = slices.Insert(slices.Delete(list, at, at+1), min(to, len(list)-1), one)
		case "swap":
			list[at], list[to] = list[to], list[at]
		case "edit":
			list[at] = p.result()
		case "twice":
			list = slices.Insert(list, to, list[at])
		case "line":
			list[at] = strings.Replace(list[at], `"start":{"line":`, `"start":{"line":1`, 1)
		}
	}
	return list
}

func (p *reporter) report(list []string) string {
	file := memoReport(list...)
	if p.draw("told", "all", "all", "all", "some") == "some" {
		file = strings.Replace(file, `"scanned":["a.py",`, `"scanned":[`, 1)
	}
	return file
}

// step draws what both tenants do.
func (p *reporter) step() memoStep {
	p.n++
	u := memoUpload(fmt.Sprint(p.n))
	u.Ref = p.draw("ref", "main", "main", "main", "dev")
	u.DeclaredFull = rapid.Bool().Draw(p.t, "declared")
	take := func(file string) memoStep {
		texts := maps.Clone(p.texts)
		return func(r *memoRealm) any {
			r.texts = func(name string) []byte {
				if text, ok := texts[name]; ok {
					return []byte(text)
				}
				return nil
			}
			return r.answer(u, file)
		}
	}
	switch kind := p.draw("step", "full", "full", "full", "full", "full", "full", "full", "full", "full", "diff", "again", "text", "url", "conceal", "triage", "triage", "ref", "old", "merge", "category"); kind {
	case "diff":
		u.Full, u.DeclaredFull = false, false
		return take(p.report(p.change(p.lists[u.Ref])))
	case "again":
		if len(p.sent) > 0 {
			return p.sent[len(p.sent)-1]
		}
	case "text":
		p.texts = map[string]string{p.draw("of", "r.one", "r.two"): p.draw("text", `{"pattern":"$X == $X"}`, `{"pattern":"f($X)"}`)}
	case "url":
		u.Project.URL = "https://git.example/acme/other"
	case "conceal":
		rule := redoubt.SecretRule{Tool: "semgrep", Name: "r.three"}
		return func(r *memoRealm) any {
			r.update(func(ctx context.Context, tx *store.Tx) error {
				return tx.PutSecretRules(ctx, []redoubt.SecretRule{rule})
			})
			return nil
		}
	case "triage":
		n := rapid.IntRange(0, 20).Draw(p.t, "lineage")
		to := rapid.SampledFrom([]redoubt.TriageState{redoubt.TriageIgnored, redoubt.TriageFixing, redoubt.TriageUntriaged}).Draw(p.t, "state")
		return func(r *memoRealm) any { return r.decide(n, to) }
	case "ref":
		delete(p.lists, "dev")
		return func(r *memoRealm) any {
			err := r.store.Update(r.tb.Context(), r.tenant, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
				project, err := tx.ProjectByName(ctx, "acme/web")
				if err != nil {
					return err
				}
				return tx.DeleteRef(ctx, project.ID, "refs/heads/dev")
			})
			return fmt.Sprint(err) // it may be the primary one, or not there
		}
	case "old":
		u.Project.Name = "acme/old"
		return take(p.report(p.change(p.lists["main"])))
	case "merge":
		return func(r *memoRealm) any { return r.merge() }
	case "category":
		u.Category = "other"
	}
	p.lists[u.Ref] = p.change(p.lists[u.Ref])
	step := take(p.report(p.lists[u.Ref]))
	p.sent = append(p.sent, step)
	return step
}

// seen is what a gate is shown of a sighting.
type seen struct {
	Identity redoubt.Identity
	Rule     string
	Path     string
	Line     int
	State    redoubt.State
	Severity redoubt.Severity
	Content  redoubt.Digest
	ID       int64
}

// answer takes a report in and returns all that is said of it.
func (r *memoRealm) answer(u Upload, file string) any {
	var shown []seen
	u.Before = func(_ context.Context, _ redoubt.Project, _ redoubt.Scan, list []Sighting) error {
		shown = nil
		for i := range list {
			f := &list[i].Finding
			shown = append(shown, seen{f.Identity, f.RuleName, f.Path, f.Line, f.State, f.Severity, f.Content, f.ID})
		}
		return nil
	}
	sums := r.take(u, file)
	for i := range sums {
		sums[i].ScanID, sums[i].ProjectID = 0, 0
	}
	return []any{sums, shown}
}

func (r *memoRealm) decide(n int, to redoubt.TriageState) any {
	r.update(func(ctx context.Context, tx *store.Tx) error {
		project, err := tx.ProjectByName(ctx, "acme/web")
		if err != nil {
			return nil //nolint:nilerr // no scan made it yet
		}
		rows, err := tx.Findings(ctx, project.ID, "refs/heads/main", "semgrep")
		if err != nil || len(rows) == 0 {
			return err
		}
		id := rows[n%len(rows)].LineageID
		before, err := tx.Lineages(ctx, []int64{id})
		if err != nil {
			return err
		}
		by := redoubt.Actor{Kind: "user", ID: "1", Name: "Ann"}
		after := redoubt.Triage{State: to, At: tx.Now(), By: by}
		return tx.UpdateTriage(ctx, []redoubt.TriageEvent{{LineageID: id, At: tx.Now(), By: by, Before: before[id].Triage, After: after}})
	})
	return nil
}

func (r *memoRealm) merge() any {
	r.update(func(ctx context.Context, tx *store.Tx) error {
		from, err := tx.ProjectByName(ctx, "acme/old")
		if err != nil {
			return nil //nolint:nilerr // no scan made it yet
		}
		into, err := tx.ProjectByName(ctx, "acme/web")
		if err != nil || into.ID == from.ID {
			return nil //nolint:nilerr // as above
		}
		_, err = tx.MergeProjects(ctx, from.ID, into.ID)
		return err
	})
	return nil
}

// TestMemosChangeNothing: with and without memos, the same reports give the same answers
// and leave the same behind.
func TestMemosChangeNothing(t *testing.T) {
	rapidChecks(t, *memoChecks)
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			clock := storetest.NewClock()
			s := storetest.Open(t, storetest.Database(t, engine, clock))
			tenants, known, stale := 0, 0, 0
			rapid.Check(t, func(t *rapid.T) {
				var realms []*memoRealm
				for _, memos := range []bool{true, false} {
					tenants++
					d, err := s.CreateDeployment(t.Context(), fmt.Sprint("tenant-", tenants), "", storetest.Actor)
					if err != nil {
						t.Fatal(err)
					}
					realms = append(realms, &memoRealm{tb: t, store: s, tenant: d.ID, memos: memos})
				}
				p := &reporter{t: t, lists: map[string][]string{}, texts: map[string]string{}}
				for range rapid.IntRange(3, 10).Draw(t, "steps") {
					clock.Advance(time.Minute)
					step := p.step()
					with, without := step(realms[0]), step(realms[1])
					known += realms[0].known
					if realms[0].stale {
						stale++
					}
					if diff := cmp.Diff(without, with); diff != "" {
						t.Fatalf("the answers differ (-without +with a memo; %d known, stale: %t):\n%s", realms[0].known, realms[0].stale, diff)
					}
					if diff := cmp.Diff(realms[1].state(), realms[0].state()); diff != "" {
						t.Fatalf("what is stored differs (-without +with a memo; %d known, stale: %t):\n%s", realms[0].known, realms[0].stale, diff)
					}
				}
			})
			if t.Logf("%d results were known, %d memos did not hold", known, stale); known == 0 || stale == 0 {
				t.Error("the histories do not show what memos do")
			}
		})
	}
}
