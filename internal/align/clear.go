package align

import (
	"cmp"
	"slices"
)

// Brief is what is known of a row without its body.
type Brief struct {
	Path    string
	Content Digest // of all that is said of the row
	Code    Digest // of its rule, pattern and the text that matched; zero where that is not known
	ByCode  bool   // see [Row]
}

// Clear pairs what needs no more than a brief, ordered by the new rows: all rows of a file
// of which both sides say the same, and in other files code that each side has once. The
// rest is for [Rows].
func Clear(old, next []Brief) (pairs []Pair) {
	changed := changedFiles(old, next)
	of := func(b *Brief) (key Brief) {
		if key = (Brief{Path: b.Path, Content: b.Content}); changed[b.Path] {
			key = Brief{Path: b.Path, Code: b.Code}
		}
		return key
	}
	alike := make(map[Brief]*file, len(old))
	for i := range old {
		k := of(&old[i])
		if alike[k] == nil {
			alike[k] = &file{}
		}
		alike[k].old = append(alike[k].old, i)
	}
	for i := range next {
		if both := alike[of(&next[i])]; both != nil {
			both.next = append(both.next, i)
		}
	}
	for k, both := range alike {
		if changed[k.Path] && (k.Code == (Digest{}) || len(both.old) != 1 || len(both.next) != 1) {
			continue
		}
		for n := range both.next {
			pairs = append(pairs, Pair{both.old[n], both.next[n]})
		}
	}
	slices.SortFunc(pairs, func(x, y Pair) int { return cmp.Compare(x.New, y.New) })
	return pairs
}

// changedFiles returns the files of which the two sides say different things, and those
// with a row that pairs by its code, which is not known.
func changedFiles(old, next []Brief) map[string]bool {
	count, changed := make(map[Brief]int, len(old)), map[string]bool{}
	for i := range old {
		b := &old[i]
		count[Brief{Path: b.Path, Content: b.Content}]++
		changed[b.Path] = changed[b.Path] || b.ByCode && b.Code == Digest{}
	}
	for i := range next {
		count[Brief{Path: next[i].Path, Content: next[i].Content}]--
	}
	for b, n := range count {
		changed[b.Path] = changed[b.Path] || n != 0
	}
	return changed
}
