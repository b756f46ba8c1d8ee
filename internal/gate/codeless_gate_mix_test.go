package gate_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestNewCodeBlocksInMixedScans checks that a scan of one kind does not count
// findings of the other kind. Otherwise decisions could move to other code.
func TestNewCodeBlocksInMixedScans(t *testing.T) {
	for _, engine := range storetest.Engines {
		for name, steps := range map[string][]evalScan{
			"a diff scan with code after one without code": {
				{file: "ab", hasCode: true}, {file: "fedab", diff: true}, {file: "hgfedab", hasCode: true, diff: true},
			},
			"a diff scan reads all of what full scans read in part": {
				{file: "a", hasCode: true, mode: "partly"}, {file: "a", hasCode: true, diff: true}, {file: "c"},
			},
			"a diff scan sees what a full scan closed": {
				{file: "a", hasCode: true}, {file: "-"}, {file: "a", hasCode: true, diff: true}, {file: "c"},
			},
		} {
			t.Run(engine+" "+name, func(t *testing.T) {
				p, last := newEvals(t, engine), len(steps)-1
				p.scan(t, evalScan{ref: "main", file: "m", sees: "m", hasCode: true})
				for i, s := range steps {
					s.ref, s.sees = "dev", strings.Trim(s.file, "-")
					now := p.scan(t, s)
					for letter, lineage := range now.lineages {
						fresh := !slices.ContainsFunc(steps[:i], func(was evalScan) bool { return strings.IndexByte(was.file, letter) >= 0 })
						if fresh && (now.ignored[letter] || !now.blocks[letter]) {
							t.Errorf("scan %d: %c is new; ignored: %v, fails the build: %v", i+1, letter, now.ignored[letter], now.blocks[letter])
						}
						if i < last {
							p.ignore(t, lineage)
						}
					}
				}
			})
		}
	}
}

// TestReportsWithPartialCode checks reports with code for some of their results. Decisions
// must not move to other code.
func TestReportsWithPartialCode(t *testing.T) {
	for _, engine := range storetest.Engines {
		for name, test := range map[string]struct{ first, second evalScan }{
			"two become one, with code":       {evalScan{file: "xa", hasCode: true, part: "a"}, evalScan{file: "--e", hasCode: true}},
			"two become one, late":            {evalScan{file: "xa", hasCode: true, part: "a"}, evalScan{file: "--e", hasCode: true, late: true}},
			"two become one in diff scans":    {evalScan{file: "xa", hasCode: true, part: "a", diff: true}, evalScan{file: "--e", hasCode: true, diff: true}},
			"two become one":                  {evalScan{file: "ab", hasCode: true, part: "b"}, evalScan{file: "b"}},
			"two become another":              {evalScan{file: "ab", hasCode: true, part: "b"}, evalScan{file: "c"}},
			"one reported result becomes two": {evalScan{file: "a", hasCode: true}, evalScan{file: "--yz", hasCode: true, part: "y"}},
			"one that was not becomes two":    {evalScan{file: "a"}, evalScan{file: "--yz", hasCode: true, part: "z"}},
			"in diff scans":                   {evalScan{file: "a", diff: true}, evalScan{file: "--yz", hasCode: true, part: "z", diff: true}},
			"late":                            {evalScan{file: "ab", hasCode: true, part: "b"}, evalScan{file: "b", late: true}},
		} {
			t.Run(engine+" "+name, func(t *testing.T) {
				p := newEvals(t, engine)
				p.scan(t, evalScan{ref: "main", file: "m", sees: "m", hasCode: true})
				for _, s := range []*evalScan{&test.first, &test.second} {
					s.ref, s.sees = "dev", strings.Trim(s.file, "-")
				}
				p.ignore(t, p.scan(t, test.first).lineages['a'])
				now := p.scan(t, test.second)
				for _, letter := range []byte(test.second.sees) {
					if !now.blocks[letter] || now.ignored[letter] {
						t.Errorf("%c fails the build: %v; ignored: %v", letter, now.blocks[letter], now.ignored[letter])
					}
				}
			})
		}
	}
}

// TestMessagesDistinguishCode checks that messages identify code if one of two reports has no code.
// Different messages mean different code, and equal messages the same.
func TestMessagesDistinguishCode(t *testing.T) {
	for _, engine := range storetest.Engines {
		for name, test := range map[string]struct {
			steps  []evalScan
			blocks string
		}{
			"told, then not":             {[]evalScan{{file: "a", hasCode: true}, {file: "e"}}, "e"},
			"not told, then told":        {[]evalScan{{file: "a"}, {file: "e", hasCode: true}}, "e"},
			"not told, twice":            {[]evalScan{{file: "a"}, {file: "e"}}, "e"},
			"in diff scans":              {[]evalScan{{file: "a", hasCode: true, diff: true}, {file: "e", diff: true}}, "e"},
			"late":                       {[]evalScan{{file: "a", hasCode: true}, {file: "e", late: true}}, "e"},
			"the same":                   {[]evalScan{{file: "a", hasCode: true}, {file: "a"}, {file: "a", hasCode: true}}, ""},
			"the same beside a new one":  {[]evalScan{{file: "a", hasCode: true}, {file: "fa"}}, "f"},
			"the same with a new result": {[]evalScan{{file: "a"}, {file: "fa", hasCode: true, part: "a"}}, "f"},
		} {
			t.Run(engine+" "+name, func(t *testing.T) {
				p, last := newEvals(t, engine), len(test.steps)-1
				p.scan(t, evalScan{ref: "main", file: "m", sees: "m", hasCode: true, named: true})
				for i, s := range test.steps {
					s.ref, s.sees, s.named = "dev", s.file, true
					now := p.scan(t, s)
					if i == 0 {
						p.ignore(t, now.lineages['a'])
					}
					for _, letter := range []byte(s.file) {
						if want := strings.IndexByte(test.blocks, letter) >= 0; i == last && (now.blocks[letter] != want || now.ignored[letter] == want) {
							t.Errorf("%c fails the build: %v, want %v; ignored: %v", letter, now.blocks[letter], want, now.ignored[letter])
						}
					}
				}
			})
		}
	}
}

// TestRepeatedDiffScanWithoutCode repeats a diff scan without code after a full scan with code.
// Its identities and decisions must remain.
func TestRepeatedDiffScanWithoutCode(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			p := newEvals(t, engine)
			p.scan(t, evalScan{ref: "main", file: "m", sees: "m", hasCode: true})
			p.scan(t, evalScan{ref: "dev", file: "ab", sees: "ab", hasCode: true})
			diff := evalScan{ref: "dev", file: "--ab-c", sees: "abc", diff: true}
			p.ignore(t, p.scan(t, diff).lineages['b'])
			for range 2 {
				if now := p.scan(t, diff); !now.blocks['a'] || now.blocks['b'] || !now.blocks['c'] {
					t.Errorf("it fails on %v, want a and c", now.blocks)
				}
			}
		})
	}
}

// TestLongMatchDecisionAppliesToEdits checks that a decision on a long match applies to edits
// on the same ref. It then applies to that code on other refs. On a ref that reports the edited
// code first, it is new (docs/explanation/identity.md).
func TestLongMatchDecisionAppliesToEdits(t *testing.T) {
	for _, engine := range storetest.Engines {
		for name, test := range map[string]struct {
			steps  []evalScan // of dev, except for the first
			blocks bool
		}{
			"a diff scan shows it first": {[]evalScan{{file: "e", diff: true}}, true},
			"the branch edited it":       {[]evalScan{{file: "m"}, {file: "e"}}, false},
			"another edited it":          {[]evalScan{{ref: "other", file: "m"}, {ref: "other", file: "e"}, {file: "e", diff: true}}, false},
			"it stands beside":           {[]evalScan{{file: "m"}, {file: "me"}}, true},
		} {
			t.Run(engine+" "+name, func(t *testing.T) {
				p := newEvals(t, engine)
				p.ignore(t, p.scan(t, evalScan{ref: "main", file: "m", sees: "m", hasCode: true, long: true}).lineages['m'])
				var now evalState
				for _, s := range test.steps {
					s.ref, s.sees, s.hasCode, s.long = cmp.Or(s.ref, "dev"), s.file, true, true
					now = p.scan(t, s)
				}
				if now.blocks['e'] != test.blocks || now.ignored['e'] == test.blocks {
					t.Errorf("it fails the build: %v, want %v; ignored: %v", now.blocks['e'], test.blocks, now.ignored['e'])
				}
			})
		}
	}
}

// TestFailedScanIsNotFirstScan checks that code that a failed scan did not reach is not new.
// The branch of a failed scan must not become the primary one.
func TestFailedScanIsNotFirstScan(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			p := newEvals(t, engine)
			for i, step := range []struct {
				scan   evalScan
				blocks string
			}{
				{evalScan{ref: "main", file: "a", mode: "failed"}, ""},
				{evalScan{ref: "dev", file: "ac", mode: "failed"}, "c"},
				{evalScan{ref: "main", file: "ab"}, ""},
				{evalScan{ref: "main", file: "abd"}, "d"},
			} {
				step.scan.sees, step.scan.hasCode = step.scan.file, true
				now := p.scan(t, step.scan)
				for _, letter := range []byte(step.scan.file) {
					if want := strings.IndexByte(step.blocks, letter) >= 0; now.blocks[letter] != want {
						t.Errorf("scan %d: %c fails the build: %v, want %v", i+1, letter, now.blocks[letter], want)
					}
				}
			}
		})
	}
}
