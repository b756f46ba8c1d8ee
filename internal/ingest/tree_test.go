package ingest

import (
	"cmp"
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/redoubt/redoubt"
)

// item is a finding as it stands in somebody's tree.
type item struct {
	style   int // what its scanner tells of it, see report
	rule    string
	path    string
	line    int
	code    string
	muted   bool
	version int // of a package
}

// message is that of an item whose code need not be told.
func (it item) message() string {
	if it.code == "y" {
		return "n"
	}
	return "m"
}

// column tells apart what may be in one line.
func (it item) column() int { return 2*it.style + int(it.code[0]-'w') }

// tree is what a branch holds, and the texts of the rules that look at it.
type tree struct {
	items   []item
	pattern string
}

// edit changes the tree as people do.
func (tr *tree) edit(t *rapid.T) {
	path := rapid.SampledFrom(allPaths)
	for range rapid.IntRange(0, 3).Draw(t, "edits") {
		i := -1
		if len(tr.items) > 0 {
			i = rapid.IntRange(0, len(tr.items)-1).Draw(t, "item")
		}
		switch op := rapid.IntRange(0, 9).Draw(t, "edit"); {
		case op <= 3 || i < 0:
			tr.items = append(tr.items, item{
				style: rapid.IntRange(0, 8).Draw(t, "style"), rule: rapid.SampledFrom(allRules).Draw(t, "rule"),
				path: path.Draw(t, "path"), line: rapid.IntRange(1, 5).Draw(t, "line"), code: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "code"),
				muted: rapid.IntRange(0, 2).Draw(t, "muted") == 0,
			})
		case op == 4:
			tr.items = slices.Delete(tr.items, i, i+1)
		case op == 5:
			from, to := tr.items[i].path, path.Draw(t, "to")
			for j := range tr.items {
				if tr.items[j].path == from {
					tr.items[j].path = to
				}
			}
		case op == 6:
			tr.items[i].muted = !tr.items[i].muted
		case op == 7 && rapid.Bool().Draw(t, "folder"):
			tr.items[i].rule = map[string]string{"r1": "lib.r1", "lib.r1": "r1"}[tr.items[i].rule]
			if tr.items[i].rule == "" {
				tr.items[i].rule = "r2"
			}
		case op == 7:
			tr.pattern = rapid.SampledFrom([]string{"p", "q"}).Draw(t, "pattern")
		case op == 8:
			tr.items[i].code = map[string]string{"x": "y", "y": "x"}[tr.items[i].code]
		default:
			tr.items[i].version++
			for j := range tr.items {
				tr.items[j].line++
			}
		}
	}
}

// What reports of one scanner tell of the same tree.
const (
	tellsAll       = iota // ids and hashes, as semgrep ci
	tellsNoPattern        // as semgrep's JSON
	tellsLittle           // as semgrep's JSON where nobody is logged in
)

// results is what a scanner reports of the items, in any order.
func (tr *tree) results(telling int) (out []redoubt.Result) {
	count := map[string]int{}
	items := slices.Clone(tr.items)
	slices.SortStableFunc(items, func(a, b item) int { return cmp.Or(a.line-b.line, a.column()-b.column()) }) // as ordinals count
	for _, it := range items {
		r := redoubt.Result{Rule: rulesBy[it.rule], Path: it.path, Message: "m " + it.code, Muted: it.muted}
		r.Location = redoubt.Location{Line: it.line, Column: it.column()}
		switch it.style {
		case 0, 1, 7, 8: // as semgrep ci
			key := fmt.Sprint(it.rule, it.path, it.code, tr.pattern)
			if it.style >= 7 { // a pattern without metavariables
				key = fmt.Sprint(it.rule, it.path, tr.pattern)
			}
			if it.style == 8 && telling == tellsAll {
				r.StartHash, r.EndHash, r.Location.EndLine = "first", "last", it.line+2
			}
			r.MatchBasedID = fmt.Sprint(key, "_", count[key])
			r.CodeHash, r.PatternHash = it.code, tr.pattern
			count[key]++
			if it.style == 7 {
				r.Message, r.Location.EndLine, r.Location.EndColumn = it.message(), it.line, it.column()+map[string]int{"x": 4}[it.code]
			}
			if telling > tellsAll {
				r.PatternHash = ""
			}
			if telling == tellsLittle {
				r.MatchBasedID, r.CodeHash = "", ""
			}
		case 2:
			r.Fingerprint, r.Code = it.code, it.code
		case 3:
			r.Code = it.code
		case 4:
			r.Message, r.Location.EndLine, r.Location.EndColumn = it.message(), it.line, it.column()+map[string]int{"x": 4, "y": 5}[it.code]
		case 5:
			r.Secret = &redoubt.SecretMatch{}
			if it.code == "x" {
				r.Secret.Hash[0] = 7
			}
		case 6:
			r.Dependency = &redoubt.Vulnerable{Lockfile: it.path, Package: it.code, Version: fmt.Sprint(it.version)}
		}
		out = append(out, r)
	}
	return out
}
