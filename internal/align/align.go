// Package align matches the findings of two scans. It compares stored rows with reported rows and
// has no access to triage or storage. A pair preserves a finding and its decision; ambiguous rows
// remain unpaired.
package align

import (
	"cmp"
	"slices"
	"strings"
)

// Digest is the digest of one or more texts. It is zero if the text is unknown.
type Digest = [16]byte

// Row is a stored or reported finding of one source.
type Row struct {
	Group Digest // of the rule, or of the part of its formula that matched
	Path  string // relative to the root of the project
	Rule  string // the rule's name; it orders rows of one place
	// Exact is the scanner's own name of the match. Code is the digest of the matched text, and
	// Loose that of the text without layout and comments; see [Loose]. Each is zero if unknown.
	Exact, Code, Loose Digest
	// Edges is the digest of the first and last line of a match of several lines. It is zero for
	// one line, or if unknown.
	Edges   Digest
	Message Digest // of the message without its numbers
	// Line and Column are the start of the match, counted from 1. The end is exclusive.
	Line, Column, EndLine, EndColumn int
	// Binds reports whether the rule has metavariables. Its match may then change and still be the
	// same finding.
	Binds bool
	// ByCode restricts the row to pairs with equal code. It is set if the last scan did not report
	// the old row, or if the new row is known elsewhere.
	ByCode bool
}

// Pair contains the indexes of an old and a new row of the same finding.
type Pair struct{ Old, New int }

// length returns the length of a match within a line, in columns, or 0 for several lines.
func (r *Row) length() int {
	if r.Line != r.EndLine {
		return 0
	}
	return r.EndColumn - r.Column
}

// weak contains the properties that two matches without code must share to be the same; strong
// contains more of them.
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

// Rows returns the pairs of old and new rows, each row at most once, ordered by the old rows. It
// first follows removed files, then equal code in a file, then the order of rows with unknown or
// changed code. It takes O(n log n) time, apart from the limits on files of equal names (see
// moves).
//
// For a path that only one side has, alone reports whether the file was removed or added.
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

// file contains the row indexes of both sides for a file, by its new path.
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

// sortRows orders rows of a file by position. Equal positions retain the order of the report.
func sortRows(rows []Row, at []int) {
	slices.SortStableFunc(at, func(i, j int) int {
		x, y := &rows[i], &rows[j]
		return cmp.Or(cmp.Compare(x.Line, y.Line), cmp.Compare(x.Column, y.Column), strings.Compare(x.Rule, y.Rule))
	})
}

// pairEqual pairs the remaining rows of a file with equal code in order.
func (a *aligner) pairEqual(f *file, code func(*Row) Digest) {
	for _, k := range a.equal(f, code) {
		for n := range min(len(k.old), len(k.next)) {
			a.pair(k.old[n], k.next[n])
		}
	}
}

// pairEdges pairs the remaining matches with equal first and last lines, if both sides have the
// same number. The lines between were edited.
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
