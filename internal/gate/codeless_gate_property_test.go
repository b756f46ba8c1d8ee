package gate_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// scanPart is the part of a scan about muted or about other results.
type scanPart struct {
	sees    string
	file    string // the scanned file, with a letter a line
	partly  bool
	hasCode bool
	part    string
	counted bool // the scan contained this part
}

// evalRef is the model of a branch.
type evalRef struct {
	file, muted string
	had         bool        // a full scan reported findings
	coded       bool        // a report contained code
	last        [2]scanPart // of results that are not muted, and that are, in the last full scan
	diff        struct {
		had  bool
		last [2]scanPart
		now  bool // the last scan was a diff scan
	}
}

// evalWorld is the model of the project and of the permitted results.
type evalWorld struct {
	refs     map[string]*evalRef
	next     byte
	named    bool          // messages contain the code
	decided  map[byte]bool // on any ref
	reported map[byte]bool
}

// step draws edits of a branch and a scan of it. Unless messages differ, it draws no scan with as
// many results as before for different code, muted or not, and none with results in the same lines:
// such changes cannot be detected (docs/explanation/identity.md).
func (w *evalWorld) step(t *rapid.T) (s evalScan, ok bool) {
	s.ref = rapid.SampledFrom([]string{"main", "dev"}).Draw(t, "ref")
	r := w.refs[s.ref]
	for range rapid.IntRange(0, 2).Draw(t, "edits") {
		w.edit(t, r)
	}
	s.file, s.muted, s.named, s.hasCode = r.file, r.muted, w.named, rapid.Bool().Draw(t, "told")
	s.mode = rapid.SampledFrom([]string{"", "", "", "partly", "failed", "lists nothing", "hides muted"}).Draw(t, "look")
	if rapid.IntRange(0, 3).Draw(t, "mixed") == 0 {
		s.hasCode, s.part = true, rapid.SampledFrom([]string{"aceg", "bdfh", "abcd"}).Draw(t, "part")
	}
	s.diff = s.ref == "dev" && rapid.IntRange(0, 2).Draw(t, "diff") == 0
	s.late = s.ref == "dev" && rapid.IntRange(0, 3).Draw(t, "late") == 0
	for _, letter := range []byte(r.file) {
		hidden := s.mode == "hides muted" && strings.IndexByte(r.muted, letter) >= 0
		unread := (s.mode == "partly" || s.mode == "failed") && rapid.IntRange(0, 3).Draw(t, "unread") == 0
		base := s.diff && strings.IndexByte(w.refs["main"].file, letter) >= 0
		if letter != '-' && !hidden && !unread && !base {
			s.sees += string(letter)
		}
	}
	before, parts := w.before(s), s.parts()
	if !w.named && sameLines(before, parts) {
		return s, false
	}
	for i, now := range parts {
		last := before[i]
		if !w.named && last.counted && now.partly == last.partly && len(now.sees) == len(last.sees) && !sameLetters(now.sees, last.sees) {
			return s, false
		}
	}
	return s, true
}

// before returns the parts whose number of results the scan is compared with. It is empty if
// numbers cannot be compared.
func (w *evalWorld) before(s evalScan) [2]scanPart {
	r := w.refs[s.ref]
	switch {
	case s.diff:
		return r.diff.last
	case r.had:
		return r.last
	case !r.diff.had:
		return w.refs["main"].last
	}
	return [2]scanPart{}
}

// applyScan updates the branch with a scan.
func (r *evalRef) applyScan(s evalScan) {
	last, had := &r.last, &r.had
	if r.diff.now = s.diff; r.diff.now {
		last, had = &r.diff.last, &r.diff.had
	}
	r.coded, *had = r.coded || s.hasCode, *had || s.sees != ""
	for i, one := range s.parts() {
		if one.counted {
			last[i] = one
		}
	}
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

// parts returns the parts of a scan: results that are not muted, and those that are.
func (s evalScan) parts() (out [2]scanPart) {
	for i := range out {
		out[i] = scanPart{file: s.file, partly: s.mode == "partly" || s.mode == "failed", hasCode: s.hasCode, part: s.part, counted: i == 0 || s.mode != "hides muted"}
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

// sameLines reports whether two scans have results for different code in the same lines.
func sameLines(before, now [2]scanPart) bool {
	x, y := lettersByLine(before), lettersByLine(now)
	return !maps.Equal(x, y) && slices.Equal(slices.Sorted(maps.Keys(x)), slices.Sorted(maps.Keys(y)))
}

func lettersByLine(parts [2]scanPart) map[int]rune {
	lines := map[int]rune{}
	for _, one := range parts {
		for _, letter := range one.sees {
			lines[strings.IndexRune(one.file, letter)] = letter
		}
	}
	return lines
}

func sameLetters(a, b string) bool {
	x, y := []byte(a), []byte(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// check compares the state after a scan with the guarantees. New code is open and fails the build.
// Decisions on code that a report can identify remain, and pass.
func (w *evalWorld) check(t *rapid.T, s evalScan, now evalState, then evalState) {
	r := w.refs[s.ref]
	last, current := w.before(s)[0], s.parts()[0]
	// known means that the report identifies its code. Diff scans and full scans cannot be
	// compared, and a diff scan passes no decision to results without code.
	known := last.counted && last.hasCode == s.hasCode && last.part+s.part == "" && last.partly == current.partly && sameLetters(last.sees, current.sees) &&
		(s.hasCode || !s.diff && (!r.coded || s.mode != "lists nothing" && !r.diff.now)) && r.diff.now == s.diff
	for _, letter := range []byte(current.sees) {
		switch {
		case now.lineages[letter] == 0 && !now.recorded:
			t.Fatalf("%c is nowhere after %+v", letter, s)
		case !w.decided[letter] && now.ignored[letter]:
			t.Fatalf("%c is ignored after %+v without a decision", letter, s)
		case !w.reported[letter] && !now.blocks[letter]:
			t.Fatalf("%c is new in %+v and passes", letter, s)
		}
		if then.ignored[letter] && known && (!now.ignored[letter] && !now.recorded || now.blocks[letter]) {
			t.Fatalf("%c was ignored and is reported again in %+v: ignored %v, fails %v", letter, s, now.ignored[letter], now.blocks[letter])
		}
	}
}

// TestGateForReportsWithoutCode checks that for random reports no new code is hidden, and no decision
// moves to other code.
func TestGateForReportsWithoutCode(t *testing.T) {
	p := newEvals(t, storetest.Engines[0])
	tenants := 0
	rapid.Check(t, func(t *rapid.T) {
		tenants++
		d, err := p.store.CreateDeployment(t.Context(), fmt.Sprint("tenant-", tenants), "", storetest.Actor)
		if err != nil {
			t.Fatal(err)
		}
		p := &evals{p.store, p.clock, d.ID}
		first := rapid.SampledFrom([]string{"ab", ""}).Draw(t, "first")
		w := evalWorld{refs: map[string]*evalRef{"main": {file: first}, "dev": {file: "ab"}}, next: 'c', named: rapid.Bool().Draw(t, "named"), decided: map[byte]bool{}, reported: map[byte]bool{}}
		for _, letter := range []byte(first) {
			w.reported[letter] = true // the first scan fails no build
		}
		then := map[string]evalState{"dev": {}}
		runScan := func(s evalScan) {
			now := p.scan(t, s)
			w.check(t, s, now, then[s.ref])
			if now.recorded {
				return
			}
			w.refs[s.ref].applyScan(s)
			for _, letter := range []byte(s.sees) {
				w.reported[letter] = true
				if strings.IndexByte(s.muted, letter) < 0 && rapid.IntRange(0, 3).Draw(t, "ignore") == 0 {
					p.ignore(t, now.lineages[letter])
					w.decided[letter], now.ignored[letter] = true, true
				}
			}
			then[s.ref] = now
		}
		runScan(evalScan{ref: "main", file: first, sees: first, named: w.named, hasCode: rapid.Bool().Draw(t, "first told")})
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			if s, ok := w.step(t); ok {
				runScan(s)
			}
		}
	})
}
