package index

import (
	"strings"
	"unsafe"
)

// interner numbers strings from 1 on. The empty string is 0: none.
type interner struct {
	numbers map[string]uint32
	texts   []string // by number; the first is the empty one
	form    func(word string) string
	forms   []string // by number; none without form
}

// number returns the number of a word, a new one if need be.
func (w *interner) number(s string) uint32 {
	if s == "" {
		return 0
	}
	n, ok := w.numbers[s]
	if !ok {
		if w.numbers == nil {
			w.numbers, w.texts = map[string]uint32{}, make([]string, 1)
		}
		n = uint32(len(w.numbers) + 1)
		s = strings.Clone(s)
		w.numbers[s], w.texts = n, append(w.texts, s)
		w.write(s)
	}
	return n
}

// text returns the word of a number, or nothing.
func (w *interner) text(n uint32) string {
	if int(n) < len(w.texts) {
		return w.texts[n]
	}
	return ""
}

// newWords returns words that have a second form, which form returns.
func newWords(form func(word string) string) interner {
	return interner{form: form, forms: []string{form("")}}
}

// formOf returns the second form of the word of a number.
func (w *interner) formOf(n uint32) string { return w.forms[n] }

func (w *interner) write(s string) {
	if w.form != nil {
		w.forms = append(w.forms, w.form(s))
	}
}

// count returns the number of words, the empty word included; 0 before the first one.
func (w *interner) count() int { return len(w.texts) }

// list returns the words by number. The first one is the empty word. The caller must not change them.
func (w *interner) list() []string { return w.texts }

// find returns the numbers of those words that are known.
func (w *interner) find(all []string) []uint32 {
	var out []uint32
	for _, s := range all {
		if n := w.numbers[s]; n != 0 {
			out = append(out, n)
		}
	}
	return out
}

// all returns every number.
func (w *interner) all() []uint32 {
	out := make([]uint32, len(w.numbers))
	for i := range out {
		out[i] = uint32(i + 1)
	}
	return out
}

// fill adds words that stand one behind the other to words without any, and reports whether all are different. The words
// share the bytes. A word ends where ends says so by number; the first end is that of the empty word.
func (w *interner) fill(ends []uint64, texts []byte) bool {
	if len(ends) == 0 {
		return true
	}
	all := unsafe.String(unsafe.SliceData(texts), len(texts))
	w.numbers, w.texts = make(map[string]uint32, len(ends)), make([]string, 1, len(ends))
	for n := 1; n < len(ends); n++ {
		text := all[ends[n-1]:ends[n]]
		w.numbers[text], w.texts = uint32(n), append(w.texts, text)
		w.write(text)
	}
	return len(w.numbers) == len(ends)-1
}

// containing returns the words that hold a text; the empty word is none of them.
func (w *interner) containing(text string) (out numberSet) {
	for n, word := range w.texts {
		if n > 0 && strings.Contains(word, text) {
			out.add(uint32(n))
		}
	}
	return out
}
