package align

import (
	"cmp"
	"slices"
)

// Brief contains the fields of a row that can be compared without reading its body.
type Brief struct {
	Path    string
	Content Digest // of the whole row
	Code    Digest // of its rule, pattern and matched text; zero if the text is unknown
	ByCode  bool   // see [Row]
}

// Clear returns the pairs that can be determined from briefs, ordered by the new rows. These are
// all rows of unchanged files and, in changed files, code that each side has exactly once. [Rows]
// pairs the remaining rows, and those with ByCode: it must see them to compare numbers.
func Clear(old, next []Brief) (pairs []Pair) {
	changed := changedFiles(old, next)
	of := func(b *Brief) (key Brief) {
		if key = (Brief{Path: b.Path, Content: b.Content}); changed[b.Path] {
			key = Brief{Path: b.Path, Code: b.Code}
		}
		return key
	}
	groups := make(map[Brief]*file, len(old))
	for i := range old {
		k := of(&old[i])
		if groups[k] == nil {
			groups[k] = &file{}
		}
		groups[k].old = append(groups[k].old, i)
	}
	for i := range next {
		if both := groups[of(&next[i])]; both != nil {
			both.next = append(both.next, i)
		}
	}
	for k, both := range groups {
		once := len(both.old) == 1 && len(both.next) == 1
		if changed[k.Path] && (k.Code == (Digest{}) || !once || old[both.old[0]].ByCode) {
			continue
		}
		for n := range both.next {
			pairs = append(pairs, Pair{both.old[n], both.next[n]})
		}
	}
	slices.SortFunc(pairs, func(x, y Pair) int { return cmp.Compare(x.New, y.New) })
	return pairs
}

// changedFiles returns the files whose rows differ between the two sides. It includes files with a
// row without code that may only pair by its code.
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
