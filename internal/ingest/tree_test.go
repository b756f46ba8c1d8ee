package ingest

import (
	"fmt"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/model"
)

// item is the content of a reported line of a file. Its number identifies it permanently. Reports
// contain it in the message, in which numbers are ignored.
type item struct {
	number  int
	style   int // details that its scanner reports, see results
	rule    string
	code    string
	gap     int // lines above it
	muted   bool
	version int // of a package
}

// message returns the message of an item, which may omit the code.
func (it item) message() string {
	text := "m " + it.code
	if it.style == 4 || it.style == 7 {
		text = map[string]string{"x": "m", "y": "n"}[it.code]
	}
	return fmt.Sprintf("%s (%d)", text, it.number)
}

// tree contains the files of a branch by path and the text of its rules.
type tree struct {
	files   map[string][]item
	pattern string
	coded   bool // its scanners report the code of all results
	numbers *int // last number used on all branches
}

func newTree() *tree { return &tree{files: map[string][]item{}, pattern: "p", numbers: new(int)} }

func (tr *tree) clone() *tree {
	out := *tr
	out.files = map[string][]item{}
	for path, items := range tr.files {
		out.files[path] = slices.Clone(items)
	}
	return &out
}

func (tr *tree) number() int { *tr.numbers++; return *tr.numbers }

func (tr *tree) draw(t *rapid.T) item {
	styles := []int{0, 1, 2, 3, 4, 5, 6, 7, 8}
	if tr.coded {
		styles = []int{0, 1, 2, 3, 6, 7, 8}
	}
	return item{
		number: tr.number(), style: rapid.SampledFrom(styles).Draw(t, "style"), rule: rapid.SampledFrom(allRules).Draw(t, "rule"),
		code: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "code"), muted: rapid.IntRange(0, 2).Draw(t, "muted") == 0,
	}
}

// edit applies random edits to the tree.
func (tr *tree) edit(t *rapid.T) {
	for range rapid.IntRange(0, 4).Draw(t, "edits") {
		path := rapid.SampledFrom(allPaths).Draw(t, "path")
		items := tr.files[path]
		at := rapid.IntRange(0, max(len(items)-1, 0)).Draw(t, "at")
		switch do := rapid.SampledFrom([]string{"insert", "insert", "insert", "delete", "move", "copy", "swap", "mute", "rule", "pattern", "code", "lines"}).Draw(t, "edit"); {
		case do == "insert":
			tr.files[path] = slices.Insert(items, at, tr.draw(t))
		case len(items) == 0:
		case do == "delete":
			tr.files[path] = slices.Delete(items, at, at+1)
		case do == "move":
			if to := rapid.SampledFrom(allPaths).Draw(t, "to"); to != path {
				tr.files[to] = append(tr.files[to], items...)
				delete(tr.files, path)
			}
		case do == "copy":
			to, it := rapid.SampledFrom(allPaths).Draw(t, "to"), items[at]
			it.number = tr.number()
			tr.files[to] = append(tr.files[to], it)
		default:
			tr.change(t, do, &items[0], &items[at])
		}
	}
}

// change applies an edit that removes no line of a file.
func (tr *tree) change(t *rapid.T, do string, first, it *item) {
	switch do {
	case "swap":
		*first, *it = *it, *first
	case "mute":
		it.muted = !it.muted
	case "rule":
		it.rule = map[string]string{"r1": "lib.r1", "lib.r1": "r1", "r2": "r3", "r3": "r2"}[it.rule]
		if lastPart(it.rule) != "r1" {
			it.number = tr.number()
		}
	case "pattern":
		tr.pattern = rapid.SampledFrom([]string{"p", "q"}).Draw(t, "pattern")
	case "code":
		it.code, it.number = map[string]string{"x": "y", "y": "x"}[it.code], tr.number()
	case "lines":
		it.gap++
		it.version++
	}
}

// The level of detail of reports on a tree.
const (
	detailFull      = iota // ids and hashes, as semgrep ci
	detailNoPattern        // as Semgrep's JSON
	detailMinimal          // as Semgrep's JSON without login
)

// results returns a scanner's results for the tree.
func (tr *tree) results(telling int) (out []model.Result) {
	for _, path := range slices.Sorted(maps.Keys(tr.files)) {
		line, count := 0, map[string]int{}
		for _, it := range tr.files[path] {
			line += it.gap + 1
			r := model.Result{Rule: rulesBy[it.rule], Path: path, Message: it.message(), Muted: it.muted}
			r.Location = model.Location{Line: line, Column: 2*it.style + int(it.code[0]-'w')}
			switch it.style {
			case 0, 1, 7, 8:
				tr.match(&r, it, telling, count)
			case 2:
				// Other code, because equal text under two names would be ambiguous.
				r.Fingerprint, r.Code = it.code, "2 "+it.code
			case 3:
				r.Code = "3 " + it.code
			case 4:
				r.Location.EndLine, r.Location.EndColumn = line, r.Location.Column+map[string]int{"x": 4, "y": 5}[it.code]
			case 5:
				r.Secret = &model.SecretMatch{}
				if it.code == "x" {
					r.Secret.Hash[0] = 7
				}
			case 6:
				r.Dependency = &model.Vulnerable{Lockfile: path, Package: it.code, Version: fmt.Sprint(it.version)}
			}
			out = append(out, r)
		}
	}
	return out
}

// match sets the ids and hashes of an item like Semgrep, which numbers equal ids in a file.
func (tr *tree) match(r *model.Result, it item, telling int, count map[string]int) {
	key := fmt.Sprint(it.rule, r.Path, it.code, tr.pattern)
	if it.style >= 7 { // a pattern without metavariables
		key = fmt.Sprint(it.rule, r.Path, tr.pattern)
	}
	if it.style == 8 && telling == detailFull {
		r.StartHash, r.EndHash, r.Location.EndLine = "first", "last", r.Location.Line+2
	}
	if it.style == 7 {
		r.Location.EndLine, r.Location.EndColumn = r.Location.Line, r.Location.Column+map[string]int{"x": 4}[it.code]
	}
	r.MatchBasedID = fmt.Sprint(key, "_", count[key])
	r.CodeHash, r.PatternHash = fmt.Sprint(it.code, it.style >= 7), tr.pattern
	count[key]++
	if telling > detailFull {
		r.PatternHash = ""
	}
	if telling == detailMinimal {
		r.MatchBasedID, r.CodeHash = "", ""
	}
}
