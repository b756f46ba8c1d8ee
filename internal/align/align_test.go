package align

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// anywhere treats every file that only one side has as removed or added.
func anywhere(string) bool { return true }

func digest(s string) (d Digest) {
	sum := sha256.Sum256([]byte(s))
	copy(d[:], sum[:])
	return d
}

// line is a line of code that one rule matches. Its id identifies it permanently.
type line struct {
	id         int
	rule, text string
}

// tree contains lines by path.
type tree map[string][]line

// scan returns the rows of a tree, and the id of each.
func (t tree) scan(withCode bool) (rows []Row, ids []int) {
	for _, path := range slices.Sorted(keys(t)) {
		for n, l := range t[path] {
			r := Row{Group: digest(l.rule), Rule: l.rule, Path: path, Message: digest(l.rule), Line: n + 1, Column: 1 + len(l.text) - len(strings.TrimLeft(l.text, " ")), EndLine: n + 1}
			r.EndColumn = 1 + len(l.text)
			if withCode {
				r.Code, r.Loose = digest(l.text), digest(Loose(path, l.text, 1))
			}
			rows, ids = append(rows, r), append(ids, l.id)
		}
	}
	return rows, ids
}

func keys(t tree) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range t {
			if !yield(k) {
				return
			}
		}
	}
}

// editor draws trees and edits of them.
type editor struct {
	t    *rapid.T
	next int
}

func (e *editor) line() line {
	e.next++
	return line{e.next, rapid.SampledFrom([]string{"eval", "exec"}).Draw(e.t, "rule"), rapid.SampledFrom([]string{"f(a)", "f(b);", "f(c)", "x = f(a)", "f( \"a b\" )"}).Draw(e.t, "text")}
}

func (e *editor) tree() tree {
	out := tree{}
	for _, path := range []string{"a/x.js", "a/y.js", "b/x.js", "c/z.js"} {
		for range rapid.IntRange(0, 6).Draw(e.t, "lines") {
			out[path] = append(out[path], e.line())
		}
	}
	return out
}

// edited returns the tree after some edits.
func (e *editor) edited(was tree) tree {
	out := tree{}
	for path, lines := range was {
		out[path] = slices.Clone(lines)
	}
	for range rapid.IntRange(0, 5).Draw(e.t, "edits") {
		path := rapid.SampledFrom(slices.Sorted(keys(was))).Draw(e.t, "path")
		lines := out[path]
		at := rapid.IntRange(0, max(len(lines)-1, 0)).Draw(e.t, "at")
		switch do := rapid.SampledFrom([]string{"insert", "delete", "swap", "reformat", "rename", "copy"}).Draw(e.t, "edit"); {
		case do == "insert":
			out[path] = slices.Insert(lines, at, e.line())
		case len(lines) == 0:
		case do == "delete":
			out[path] = slices.Delete(lines, at, at+1)
		case do == "swap":
			lines[0], lines[at] = lines[at], lines[0]
		case do == "reformat":
			lines[at].text = "  " + strings.TrimSpace(strings.ReplaceAll(lines[at].text, "( ", "("))
		case do == "rename":
			to := rapid.SampledFrom([]string{"d/x.js", "a/w.js", "b/y.js"}).Draw(e.t, "to")
			if _, exists := out[to]; !exists {
				out[to] = lines
				delete(out, path)
			}
		case do == "copy":
			l := lines[at]
			e.next++
			l.id = e.next
			out[path] = append(lines, l)
		}
	}
	return out
}

// drawn returns the scans of a tree before and after edits, and their alignment.
func drawn(t *rapid.T, withCode bool) (old, next []Row, oldIDs, newIDs []int, pairs []Pair) {
	e := &editor{t: t}
	was := e.tree()
	if len(was) == 0 {
		t.Skip("nothing is there")
	}
	old, oldIDs = was.scan(withCode)
	next, newIDs = e.edited(was).scan(withCode)
	return old, next, oldIDs, newIDs, Rows(old, next, anywhere)
}

// TestDecisionIsNotTransferredToOtherCode checks that a decision is not transferred to other code while its own
// code is in the file.
func TestDecisionIsNotTransferredToOtherCode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old, next, _, _, pairs := drawn(t, true)
		paired := map[int]bool{}
		for _, p := range pairs {
			if paired[p.New] {
				t.Fatalf("%+v is two", next[p.New])
			}
			paired[p.New] = true
			if o, n := old[p.Old], next[p.New]; o.Group != n.Group || o.Loose != n.Loose {
				t.Errorf("%+v goes on as %+v", o, n)
			}
		}
	})
}

// TestUniqueCodeIsPaired checks that code that is unique in a file, before and after, is paired
// with itself.
func TestUniqueCodeIsPaired(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old, next, oldIDs, newIDs, pairs := drawn(t, true)
		to := map[int]int{}
		for _, p := range pairs {
			to[oldIDs[p.Old]] = newIDs[p.New]
		}
		type location struct {
			path         string
			group, loose Digest
		}
		of := func(r Row) location { return location{r.Path, r.Group, r.Loose} }
		had, has := map[location][]int{}, map[location][]int{}
		for i, r := range old {
			had[of(r)] = append(had[of(r)], oldIDs[i])
		}
		for i, r := range next {
			has[of(r)] = append(has[of(r)], newIDs[i])
		}
		for p, ids := range had {
			if is := has[p]; len(ids) == 1 && len(is) == 1 && ids[0] == is[0] && to[ids[0]] != ids[0] {
				t.Errorf("%s: %d is lost, or %d", p.path, ids[0], to[ids[0]])
			}
		}
	})
}

// TestRepeatedUploadChangesNothing checks that a repeated upload changes nothing, with and without code.
func TestRepeatedUploadChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, _ := (&editor{t: t}).tree().scan(rapid.Bool().Draw(t, "with code"))
		var want []Pair
		for i := range rows {
			want = append(want, Pair{i, i})
		}
		if diff := cmp.Diff(want, Rows(rows, rows, anywhere)); diff != "" {
			t.Error(diff)
		}
	})
}

// TestReportOrderHasNoEffect checks that the order of a report has no effect.
func TestReportOrderHasNoEffect(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old, next, oldIDs, newIDs, pairs := drawn(t, rapid.Bool().Draw(t, "with code"))
		at := rapid.Permutation(indexes(len(next))).Draw(t, "order")
		mixed, ids := make([]Row, len(next)), make([]int, len(next))
		for i, from := range at {
			mixed[i], ids[i] = next[from], newIDs[from]
		}
		named := func(pairs []Pair, newIDs []int) (out []string) {
			for _, p := range pairs {
				out = append(out, fmt.Sprint(oldIDs[p.Old], " ", newIDs[p.New]))
			}
			return out
		}
		if diff := cmp.Diff(named(pairs, newIDs), named(Rows(old, mixed, anywhere), ids)); diff != "" {
			t.Error(diff)
		}
	})
}

func indexes(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// lines returns the rows of a rule's matches in a file.
func lines(path string, texts ...string) (rows []Row) {
	t := tree{}
	for n, text := range texts {
		t[path] = append(t[path], line{n, "eval", text})
	}
	rows, _ = t.scan(true)
	return rows
}

// twice adds matches of another rule at the same places.
func twice(rows []Row) []Row {
	for _, r := range rows {
		r.Group, r.Rule = digest("another"), "another"
		rows = append(rows, r)
	}
	return rows
}

func withoutCode(rows []Row) []Row {
	for i := range rows {
		rows[i].Code, rows[i].Loose = Digest{}, Digest{}
	}
	return rows
}

// TestFiles checks when a file continues as another.
func TestFiles(t *testing.T) {
	join := func(list ...[]Row) []Row { return slices.Concat(list...) }
	for name, c := range map[string]struct {
		old, next []Row
		want      []Pair
	}{
		"one equal line in an unrelated file":     {lines("legacy/old.js", "eval(q)"), lines("api/public/handler.js", "eval(q)"), nil},
		"one, of the same name in another folder": {lines("legacy/x.js", "eval(q)"), lines("api/x.js", "eval(q)"), nil},
		"one, with the same parent":               {lines("old/auth/x.js", "eval(q)"), lines("new/auth/x.js", "eval(q)"), []Pair{{0, 0}}},
		"two, of another name":                    {lines("a.js", "eval(q)", "eval(r)"), lines("b.js", "eval(q)", "eval(r)", "eval(s)"), []Pair{{0, 0}, {1, 1}}},
		"two of five, of another name":            {lines("a.js", "eval(q)", "eval(r)", "1", "2", "3"), lines("b.js", "eval(q)", "eval(r)"), nil},
		"half, of the same name":                  {lines("a/x.js", "eval(q)", "1"), lines("b/x.js", "eval(q)", "2"), []Pair{{0, 0}}},
		"three of a name, one of which stands for none": {
			join(lines("apps/auth/routes.js", "eval(q)"), lines("apps/billing/routes.js", "eval(q)"), lines("apps/cart/routes.js", "eval(q)")),
			join(lines("services/identity/routes.js", "eval(q)"), lines("services/billing/routes.js", "eval(q)"), lines("services/cart/routes.js", "eval(q)")),
			[]Pair{{1, 1}, {2, 2}},
		},
		"two, of another name, without code":  {withoutCode(lines("a.js", "eval(q)", "eval(r)")), withoutCode(lines("b.js", "eval(q)", "eval(r)")), nil},
		"two, of the same name, without code": {withoutCode(lines("a/x.js", "eval(q)", "f")), withoutCode(lines("b/x.js", "eval(q)", "f")), []Pair{{0, 0}, {1, 1}}},
		"two rules that match in one line":    {twice(lines("legacy/old.js", "eval(q)")), twice(lines("api/public/handler.js", "eval(q)")), nil},
		"two rules, with the same parent":     {twice(lines("old/auth/x.js", "eval(q)")), twice(lines("new/auth/x.js", "eval(q)")), []Pair{{0, 0}, {1, 1}}},
		"two rules, of the same name":         {twice(lines("legacy/x.js", "eval(q)")), twice(lines("api/x.js", "eval(q)")), nil},
		"two that fit as well":                {join(lines("a/x.js", "1", "2"), lines("b/x.js", "1", "2")), join(lines("c/x.js", "1", "2"), lines("d/x.js", "1", "2")), nil},
	} {
		if diff := cmp.Diff(c.want, Rows(c.old, c.next, anywhere)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestDeepPathComparisonIsLimited checks that deep paths are not compared beyond a limit.
func TestDeepPathComparisonIsLimited(t *testing.T) {
	const files = 65 // more pairs than the limit
	for depth, want := range map[int]int{10: files, 1000: 0} {
		var old, next []Row
		for n := range files {
			path := fmt.Sprintf("/f%d/%sa.js", n, strings.Repeat("d/", depth))
			old, next = append(old, lines("x"+path, "f(a)")...), append(next, lines("y"+path, "f(a)")...)
		}
		if got := len(Rows(old, next, anywhere)); got != want {
			t.Errorf("%d names deep: %d pairs, want %d", depth, got, want)
		}
	}
}

// at returns a row without code, of a rule, at a line and column.
func at(rule string, line, column int) Row {
	return Row{Group: digest(rule), Rule: rule, Path: "a.js", Line: line, Column: column, EndLine: line, EndColumn: column + 5}
}

// TestOrder checks how rows without code are distinguished.
func TestOrder(t *testing.T) {
	for name, c := range map[string]struct {
		old, next []Row
		want      []Pair
	}{
		"lines above":                      {[]Row{at("x", 1, 1), at("y", 2, 1)}, []Row{at("x", 9, 1), at("y", 10, 1)}, []Pair{{0, 0}, {1, 1}}},
		"one more of a kind":               {[]Row{at("x", 1, 1)}, []Row{at("x", 1, 1), at("x", 2, 1)}, nil},
		"one more, elsewhere in the line":  {[]Row{at("x", 1, 1)}, []Row{at("x", 1, 5), at("x", 2, 1)}, []Pair{{0, 1}}},
		"the column first, then the count": {[]Row{at("x", 1, 1), at("x", 2, 5)}, []Row{at("x", 1, 5), at("x", 2, 9)}, []Pair{{0, 1}, {1, 0}}},
		"one more, behind an anchor": {
			[]Row{at("a", 1, 1), at("x", 2, 1), at("b", 3, 1), at("x", 4, 1), at("c", 5, 1)},
			[]Row{at("a", 1, 1), at("x", 2, 1), at("b", 3, 1), at("c", 5, 1), at("x", 6, 1), at("x", 7, 1)},
			[]Pair{{0, 0}, {1, 1}, {2, 2}, {4, 3}},
		},
		"of another rule": {[]Row{at("x", 1, 1)}, []Row{at("y", 1, 1)}, nil},
	} {
		if diff := cmp.Diff(c.want, Rows(c.old, c.next, anywhere)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestLongestRun checks that the run ascends and has the maximum length.
func TestLongestRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var pairs []Pair
		for i, to := range rapid.Permutation(indexes(rapid.IntRange(0, 8).Draw(t, "length"))).Draw(t, "order") {
			pairs = append(pairs, Pair{i, to})
		}
		ascends := func(run []Pair) bool {
			for i := 1; i < len(run); i++ {
				if run[i].Old <= run[i-1].Old || run[i].New <= run[i-1].New {
					return false
				}
			}
			return true
		}
		longest := 0
		for set := range 1 << len(pairs) {
			var run []Pair
			for i, p := range pairs {
				if set&(1<<i) != 0 {
					run = append(run, p)
				}
			}
			if ascends(run) {
				longest = max(longest, len(run))
			}
		}
		if run := longestRun(pairs); len(run) != longest || !ascends(run) {
			t.Errorf("%v of %v", run, pairs)
		}
	})
}

// TestLoose checks which parts of code are layout.
func TestLoose(t *testing.T) {
	for _, c := range []struct {
		file, a, b string
		same       bool
	}{
		{"a.js", "f( a )", "f(a);", true},
		{"a.js", "f(a) // by bob", "f(a)", true},
		{"a.js", "f(a, /* old */ b)", "f(a,\n\tb)", true},
		{"a.js", `f("a b")`, `f("ab")`, false},
		{"a.js", `f("http://x")`, `f("http://y")`, false},
		{"a.js", "f(`a\n// b`)", "f(`a\n`)", false},
		{"a.js", `f('\'', a)`, `f('\'',a)`, true},
		{"a.py", "f(a // b)", "f(a // c)", false},
		{"a.py", "f(a) # why", "f(a)", true},
		{"a.html", "<a href=#x>", "<a href=#y>", false},
		{"a.js", "// fix me", "// later", false},
		{"a.txt", "don't do", "don't undo", false},
		{"a.sh", "eval ${x#safe}", "eval ${x#other}; rm -r /", false},
		{"a.yaml", "run: curl x#a", "run: curl x#b | sh", false},
		{"a.tf", "data = <<END\ncurl http://good | sh\nEND", "data = <<END\ncurl http://other | sh\nEND", false},
		{"a.js", `f(p.replace(/\//g, ""), a)`, `f(p.replace(/\//g, ""), b)`, false},
		{"a.js", "f(a);// by bob", "f(a)", true},
	} {
		if same := Loose(c.file, c.a, 1) == Loose(c.file, c.b, 1); same != c.same {
			t.Errorf("%s: %q and %q are the same: %v", c.file, c.a, c.b, same)
		}
	}
}

// TestLooseOfComments checks that matches in comments after code are distinguished.
func TestLooseOfComments(t *testing.T) {
	const a, b = "f() # key: one", "f() # key: two"
	if Loose("a.py", a, 12) == Loose("a.py", b, 12) {
		t.Error("two comments that are what matched are the same")
	}
	if Loose("a.py", a, 1) != Loose("a.py", b, 1) {
		t.Error("two comments behind what matched differ")
	}
	if Loose("a.py", a, 40) != Loose("a.py", b, 0) {
		t.Error("a column outside of the code tells something")
	}
}

// FuzzLoose checks that Loose terminates for unclosed strings and comments and for invalid text.
func FuzzLoose(f *testing.F) {
	f.Add("a.js", "f('a\\")
	f.Add("a.js", "/*")
	f.Add("a.py", "#\x00\xff")
	f.Fuzz(func(t *testing.T, file, code string) {
		if loose := Loose(file, code, 5); len(loose) > len(code) {
			t.Errorf("%q grows to %q", code, loose)
		}
	})
}

// BenchmarkRows aligns a large file of which a hundredth changed. It also aligns the worst known
// case: no code, and anchors that are only found between other anchors.
func BenchmarkRows(b *testing.B) {
	for _, withCode := range []bool{true, false} {
		var small float64
		for _, size := range []int{2_000, 20_000} {
			b.Run(fmt.Sprintf("code=%v/%d", withCode, size), func(b *testing.B) {
				r := rand.New(rand.NewPCG(1, 2))
				was := tree{}
				for n := range size {
					was["a.js"] = append(was["a.js"], line{n, fmt.Sprint("rule", r.IntN(size/20)), strings.Repeat("x", r.IntN(40))})
				}
				is := tree{"a.js": slices.Clone(was["a.js"])}
				for range size / 100 {
					is["a.js"] = slices.Delete(is["a.js"], 0, 1)
					is["a.js"][r.IntN(len(is["a.js"]))].text += "y"
				}
				old, _ := was.scan(withCode)
				next, _ := is.scan(withCode)
				for b.Loop() {
					Rows(old, next, anywhere)
				}
				per := float64(b.Elapsed()) / float64(b.N)
				if size == 2_000 {
					small = per
				} else if small > 0 && per > 30*small { // n log n is 13 times
					b.Errorf("ten times as many take %.1f times as long", per/small)
				}
			})
		}
	}
}
