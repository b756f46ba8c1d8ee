package version

import (
	"cmp"
	"slices"
	"strings"
)

// mavenItem is a number, a word or a list. A hyphen, or a change between letters and digits, begins
// a list. The kinds are in ascending order.
type mavenItem struct {
	kind   int
	number string // digits without leading zeros
	word   string
	list   *mavenVersion
}

const (
	mavenWord = iota
	mavenList
	mavenNumber
)

// mavenVersion is a list of items, nested as in Maven's own library, without insignificant items at
// the ends of lists.
type mavenVersion struct {
	items []mavenItem
}

// parseMaven parses any text: Maven accepts all texts as versions.
func parseMaven(s string) *mavenVersion {
	root := &mavenVersion{}
	reader := mavenReader{list: root, lists: []*mavenVersion{root}}
	s = strings.ToLower(s)
	for start := 0; start < len(s); { // text after the last separator may be empty
		end := start
		for end < len(s) && s[end] != '.' && s[end] != '-' {
			end++
		}
		reader.segment(s[start:end], end == len(s))
		if end < len(s) && s[end] == '-' {
			reader.open()
		}
		start = end + 1
	}
	for _, list := range slices.Backward(reader.lists) {
		list.trim()
	}
	return root
}

type mavenReader struct {
	list  *mavenVersion   // the innermost list
	lists []*mavenVersion // all lists, outer before inner
}

func (r *mavenReader) open() {
	inner := &mavenVersion{}
	r.list.items = append(r.list.items, mavenItem{kind: mavenList, list: inner})
	r.list, r.lists = inner, append(r.lists, inner)
}

func (r *mavenReader) openUnlessEmpty() {
	if len(r.list.items) > 0 {
		r.open()
	}
}

// segment parses the text between two separators, such as 1, rc, rc1 or 1rc. A word before a
// number, or at the end of the version, begins a list even after a dot.
func (r *mavenReader) segment(s string, last bool) {
	if s == "" {
		s = "0"
	}
	for s != "" {
		end := 1
		for end < len(s) && isDigit(s[end]) == isDigit(s[0]) {
			end++
		}
		run, rest := s[:end], s[end:]
		switch {
		case isDigit(run[0]):
			r.add(mavenItem{kind: mavenNumber, number: number(run)})
		case rest != "":
			r.openUnlessEmpty()
			r.add(mavenItem{kind: mavenWord, word: mavenAlias(run, true)})
		default:
			if last {
				r.openUnlessEmpty()
			}
			r.add(mavenItem{kind: mavenWord, word: mavenAlias(run, false)})
		}
		if rest != "" {
			r.open()
		}
		s = rest
	}
}

func (r *mavenReader) add(item mavenItem) { r.list.items = append(r.list.items, item) }

func mavenAlias(word string, beforeNumber bool) string {
	switch word {
	case "ga", "final", "release":
		return ""
	case "cr":
		return "rc"
	}
	if beforeNumber {
		switch word {
		case "a":
			return "alpha"
		case "b":
			return "beta"
		case "m":
			return "milestone"
		}
	}
	return word
}

// trim removes items equal to an absent item from the end, and from before lists at the end.
func (v *mavenVersion) trim() {
	for i, item := range slices.Backward(v.items) {
		switch {
		case item.list != nil && len(item.list.items) == 0, item.list == nil && item.sign() == 0:
			v.items = slices.Delete(v.items, i, i+1)
		case item.list == nil:
			return
		}
	}
}

// mavenWords are the qualifiers in ascending order; the empty one is the release itself. All other
// words follow them.
var mavenWords = []string{"alpha", "beta", "milestone", "rc", "snapshot", "", "sp"}

func mavenRank(word string) int {
	if i := slices.Index(mavenWords, word); i >= 0 {
		return i
	}
	return len(mavenWords)
}

// sign compares the item with an absent item.
func (m mavenItem) sign() int {
	switch m.kind {
	case mavenNumber:
		return min(1, strings.Compare(m.number, "0"))
	case mavenWord:
		return cmp.Compare(mavenRank(m.word), mavenRank(""))
	}
	return mavenSign(m.list.items)
}

// mavenSign compares a list of items with an absent item.
func mavenSign(items []mavenItem) int {
	for _, item := range items {
		if sign := item.sign(); sign != 0 {
			return sign
		}
	}
	return 0
}

func (v *mavenVersion) compare(other parsed) int {
	a, b := v.items, other.(*mavenVersion).items
	for i := range min(len(a), len(b)) {
		if a[i].kind != b[i].kind {
			// Comparing only the kinds, as Maven does, is not transitive: 1-alpha < 1 < 1.sp.1 <
			// 1-alpha.
			return cmp.Or(cmp.Compare(mavenSign(a[i:]), mavenSign(b[i:])), cmp.Compare(a[i].kind, b[i].kind))
		}
		if sign := a[i].compare(b[i]); sign != 0 {
			return sign
		}
	}
	shorter := min(len(a), len(b))
	return cmp.Compare(mavenSign(a[shorter:]), mavenSign(b[shorter:]))
}

// compare compares items of the same kind.
func (m mavenItem) compare(n mavenItem) int {
	switch m.kind {
	case mavenNumber:
		return compareDigits(m.number, n.number)
	case mavenWord:
		return cmp.Or(cmp.Compare(mavenRank(m.word), mavenRank(n.word)), strings.Compare(m.word, n.word))
	}
	return m.list.compare(n.list)
}
