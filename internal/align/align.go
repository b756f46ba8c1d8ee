// Package align decides which findings of two scans are the same. It compares
// stored rows with reported rows, and knows neither triage nor storage. A pair
// keeps a finding and its decision. What is ambiguous stays unpaired: the old
// finding ends, and the new one is open.
package align

import (
	"cmp"
	"slices"
	"strings"
)

// Digest stands for a text, or for several; zero where it is not known.
type Digest = [16]byte

// Row is a finding of one source: as it is stored, or as a report has it.
type Row struct {
	Group Digest // of the rule, or of the part of its formula that matched
	Path  string // from the root of the project
	Rule  string // the rule's name; it orders rows of one place
	// Exact is the scanner's own name of the match; Code is the text that matched, and Loose
	// that text without layout and comments, see [Loose]. Each is zero where it is not known.
	Exact, Code, Loose Digest
	// Edges is of the first and the last line of a match of several lines; zero where
	// it has one, or they are not known.
	Edges   Digest
	Message Digest // of the message without its numbers
	// Line and Column are where the match begins, counted from 1; the end lies
	// behind its last character.
	Line, Column, EndLine, EndColumn int
	// Binds says that the rule has metavariables, so that its match may change
	// without becoming another finding.
	Binds bool
	// ByCode means that the row pairs by its code only, not by its order: the last scan did
	// not report the old row, or the new row is known elsewhere.
	ByCode bool
}

// Pair says that the old row of one index is the new row of the other.
type Pair struct{ Old, New int }

// length is that of a match within a line, in columns; 0 for one of several lines.
func (r *Row) length() int {
	if r.Line != r.EndLine {
		return 0
	}
	return r.EndColumn - r.Column
}

// weak is what two matches without code have in common if they may be the same;
// strong is more of it.
type (
	weak struct {
		group, message Digest
		length         int
	}
	strong struct {
		weak
		column, height int
	}
)

func (r *Row) weak() weak { return weak{r.Group, r.Message, r.length()} }

func (r *Row) strong() strong { return strong{r.weak(), r.Column, r.EndLine - r.Line} }

// Rows returns which old row continues as which new one, each row at most once,
// ordered by the old ones. Files that are gone are followed first, then equal
// code in a file, then the order of what has no code, or has changed. It takes
// O(n log n) time but for the limits on files of equal names (see moves).
//
// For a path that only one side has, alone reports whether the file is gone or new.
func Rows(old, next []Row, alone func(path string) bool) []Pair {
	a := aligner{old: old, next: next, alone: alone, paired: [2][]bool{make([]bool, len(old)), make([]bool, len(next))}}
	moved := a.moves()
	files := map[string]*file{}
	of := func(path string) *file {
		f := files[path]
		if f == nil {
			f = &file{}
			files[path] = f
		}
		return f
	}
	for i := range old {
		path := old[i].Path
		if to, is := moved[path]; is {
			path = to
		}
		f := of(path)
		f.old = append(f.old, i)
	}
	for i := range next {
		f := of(next[i].Path)
		f.next = append(f.next, i)
	}
	for _, f := range files {
		if len(f.old) == 0 || len(f.next) == 0 {
			continue
		}
		sortRows(old, f.old)
		sortRows(next, f.next)
		a.pairEqual(f, func(r *Row) Digest { return r.Exact })
		a.pairEqual(f, func(r *Row) Digest { return r.Code })
		a.pairEqual(f, func(r *Row) Digest { return r.Loose })
		a.pairEdges(f)
		a.pairByOrder(f)
	}
	slices.SortFunc(a.pairs, func(x, y Pair) int { return cmp.Compare(x.Old, y.Old) })
	return a.pairs
}

// file is what both sides have of a file, by its new path.
type file struct{ old, next []int }

type aligner struct {
	old, next []Row
	alone     func(path string) bool
	paired    [2][]bool
	pairs     []Pair
}

func (a *aligner) pair(o, n int) {
	a.paired[0][o], a.paired[1][n] = true, true
	a.pairs = append(a.pairs, Pair{o, n})
}

// sortRows orders rows of a file by their place. Equal places keep the order of the report.
func sortRows(rows []Row, at []int) {
	slices.SortStableFunc(at, func(i, j int) int {
		x, y := &rows[i], &rows[j]
		return cmp.Or(cmp.Compare(x.Line, y.Line), cmp.Compare(x.Column, y.Column), strings.Compare(x.Rule, y.Rule))
	})
}

// pairEqual pairs what is left of equal code in a file, the first with the first.
func (a *aligner) pairEqual(f *file, code func(*Row) Digest) {
	for _, k := range a.equal(f, code) {
		for n := range min(len(k.old), len(k.next)) {
			a.pair(k.old[n], k.next[n])
		}
	}
}

// pairEdges pairs the remaining matches of several lines that have equal first and last
// lines, if both sides have the same number. Lines between these were edited.
func (a *aligner) pairEdges(f *file) {
	for _, k := range a.equal(f, func(r *Row) Digest { return r.Edges }) {
		if len(k.old) == len(k.next) {
			for n := range k.old {
				a.pair(k.old[n], k.next[n])
			}
		}
	}
}

// equal returns the remaining rows of a file by group and digest, if both sides may have them.
func (a *aligner) equal(f *file, of func(*Row) Digest) map[[2]Digest]*file {
	kinds := map[[2]Digest]*file{}
	for _, i := range f.old {
		r := &a.old[i]
		if d := of(r); !a.paired[0][i] && d != (Digest{}) {
			k := [2]Digest{r.Group, d}
			if kinds[k] == nil {
				kinds[k] = &file{}
			}
			kinds[k].old = append(kinds[k].old, i)
		}
	}
	for _, i := range f.next {
		r := &a.next[i]
		if k := kinds[[2]Digest{r.Group, of(r)}]; k != nil && !a.paired[1][i] {
			k.next = append(k.next, i)
		}
	}
	return kinds
}
