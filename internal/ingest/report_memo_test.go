package ingest

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/exemption"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/storetest"
)

// memoRealm is a tenant that takes reports in, with or without memos.
type memoRealm struct {
	tb interface {
		rapid.TB
		Context() context.Context
	}
	store  *store.Store
	tenant int64
	memos  bool
	texts  func(name string) []byte
	known  int  // results of the last report that were not read
	stale  bool // whether the last memo did not hold
}

func (r *memoRealm) update(fn func(ctx context.Context, tx *store.Tx) error) {
	r.tb.Helper()
	if err := r.store.Update(r.tb.Context(), r.tenant, storetest.Actor, fn); err != nil {
		r.tb.Fatal(err)
	}
}

func (r *memoRealm) view(fn func(ctx context.Context, tx *store.Tx) error) {
	r.tb.Helper()
	if err := r.store.View(r.tb.Context(), r.tenant, fn); err != nil {
		r.tb.Fatal(err)
	}
}

// take reads a report as the server does, and takes it in.
func (r *memoRealm) take(u Upload, file string) (sums []Summary) {
	r.tb.Helper()
	o := report.Options{Name: "x.json", Key: []byte("a key for secrets"), Category: u.Category, RuleText: r.texts, Remember: u.Full}
	var secret func(tool, rule string) bool
	r.view(func(ctx context.Context, tx *store.Tx) (err error) {
		if r.memos && u.Full {
			if o.Memo, err = MemoOf(ctx, tx, u.Project.Name, u.Ref, u.Category); err != nil {
				return err
			}
		}
		secret, err = KnownSecretRules(ctx, tx)
		return err
	})
	if !r.memos {
		o.Remember = false
	}
	var reading report.Reading
	if err := reading.Add(strings.NewReader(file), o); err != nil {
		r.tb.Fatalf("%v\n%s", err, file)
	}
	r.known, r.stale = 0, false
	err := WithMemo(func() *report.Cleaned { return reading.Clean(secret) }, func() error {
		r.stale = true
		return reading.Forget()
	}, func(cleaned *report.Cleaned) error {
		return r.store.Update(r.tb.Context(), r.tenant, storetest.Actor, func(ctx context.Context, tx *store.Tx) (err error) {
			r.known = 0
			for _, rep := range cleaned.Reports(nil) {
				r.known += len(rep.Known)
			}
			sums, err = ApplyAll(ctx, tx, exemption.ForImport{Store: tx}, u, cleaned)
			return err
		})
	})
	if err != nil {
		r.tb.Fatal(err)
	}
	return sums
}

// memoResult is a result of Semgrep's as its JSON has it.
func memoResult(rule, path string, line int, code, more string) string {
	return fmt.Sprintf(`{"check_id":%q,"path":%q,"start":{"line":%d,"col":1},"end":{"line":%d,"col":%d},"extra":{"message":%q,"severity":"ERROR","metadata":{"category":"security"},"lines":%q%s}}`,
		rule, path, line, line, 1+len(code), "about "+code, code, more)
}

func memoReport(results ...string) string {
	return `{"version":"1.180.0","results":[` + strings.Join(results, ",\n ") + `],"errors":[],"paths":{"scanned":["a.py","b.py","c.py","d.py"]}}`
}

func memoUpload(commit string) Upload {
	return Upload{Decides: true, Project: redoubt.Project{Name: "acme/web", URL: "https://git.example/acme/web"}, Ref: "main", Commit: commit, Full: true}
}

// TestMemoKnowsWhatComesAgain: only what is new is read, and the results beside it that
// it numbers.
func TestMemoKnowsWhatComesAgain(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		r := &memoRealm{tb: t, store: s, tenant: d.ID, memos: true}
		list := []string{
			memoResult("r.one", "a.py", 1, "f(1)", ""), memoResult("r.one", "a.py", 2, "f(1)", ""),
			memoResult("r.one", "b.py", 1, "f(1)", ""), memoResult("r.two", "b.py", 1, "g(2)", ""),
		}
		for i, step := range []struct {
			change func()
			known  int
		}{
			{func() {}, 0},
			{func() {}, 4},
			{func() { slices.Reverse(list) }, 4},
			{func() { list = append(list, memoResult("r.one", "a.py", 9, "f(1)", "")) }, 2},
			{func() {}, 5},
			{func() { list = list[1:] }, 4 - 0},
			{func() { list = list[:len(list)-1] }, 1},
			{func() { list[0] = strings.Replace(list[0], "ERROR", "INFO", 1) }, 2},
		} {
			step.change()
			sums := r.take(memoUpload(fmt.Sprint(i)), memoReport(list...))
			if r.known != step.known || r.stale {
				t.Errorf("step %d: %d results were known (stale: %t), want %d; %+v", i, r.known, r.stale, step.known, sums)
			}
		}
	})
}

// TestMemoVersion holds how results are read: where a reading changes, memos of before
// must know nothing.
func TestMemoVersion(t *testing.T) {
	file := memoReport(
		memoResult("r.one", "a.py", 1, "f(1)", ""), memoResult("r.one", "a.py", 2, "  f(1)", `,"fingerprint":"aaaa_0"`),
		memoResult("r.one", "./b.py", 3, "if x == x:\n    y()  # nosem", `,"is_ignored":true,"metavars":{"$X":{"abstract_content":"x"}}`),
		memoResult("r.two", "src/é.py", 4, "see: https://host/x?a=b", `,"engine_kind":"PRO","validation_state":"NO_VALIDATOR"`),
		memoResult("r.three", "c.py", 5, "requires login", `,"fingerprint":"requires login","dataflow_trace":{"taint_source":["CliLoc",[{"path":"c.py","start":{"line":1,"col":2}},"in()"]]}`),
	)
	texts := func(name string) []byte {
		if name == "r.one" {
			return []byte(`{"patterns":[{"pattern":"$X == $X"},{"pattern-not":"f($X)"}]}`)
		}
		return nil
	}
	reports, err := report.Read(strings.NewReader(file), report.Options{Name: "x.json", Key: []byte("a key for secrets"), RuleText: texts, Remember: true})
	if err != nil {
		t.Fatal(err)
	}
	sightings, refused := Observe(reports[0])
	if refused.CountRefused() > 0 || len(sightings) != 5 {
		t.Fatalf("%d sightings, %+v", len(sightings), refused)
	}
	var d digester
	d.start("sightings")
	for i := range sightings {
		f := sightings[i].Finding
		text, err := json.Marshal([]any{f, sightings[i].Result})
		if err != nil {
			t.Fatal(err)
		}
		d.str(string(text))
	}
	sum := d.sum()
	const version, want = 4, "5dcc948822dcd98290a99b2a8305e920"
	if got := hex.EncodeToString(sum[:]); report.MemoVersion != version || got != want {
		t.Errorf("results are read as %s, and were as %s under version %d. Raise report.MemoVersion (%d) if they are read otherwise, and write both down here.", got, want, version, report.MemoVersion)
	}
}
