package lexicon

import (
	"strings"
	"unsafe"
)

// Words numbers strings, starting at 1. The empty string has number 0.
type Words struct {
	numbers map[string]uint32
	texts   []string // by number; the first is empty
	form    func(word string) string
	forms   []string // by number; unused without form
}

// Number returns the number of a word and assigns one if necessary.
func (w *Words) Number(s string) uint32 {
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

// Text returns the word of a number, or "" if there is none.
func (w *Words) Text(n uint32) string {
	if int(n) < len(w.texts) {
		return w.texts[n]
	}
	return ""
}

// NewWords returns a Words that also stores a second form of each word, computed by form.
func NewWords(form func(word string) string) Words {
	return Words{form: form, forms: []string{form("")}}
}

// Form returns the second form of the word with a number.
func (w *Words) Form(n uint32) string { return w.forms[n] }

func (w *Words) write(s string) {
	if w.form != nil {
		w.forms = append(w.forms, w.form(s))
	}
}

// Count returns the number of words, including the empty word, or 0 before the first one.
func (w *Words) Count() int { return len(w.texts) }

// List returns the words by number. The first one is the empty word. The caller must not modify the
// result.
func (w *Words) List() []string { return w.texts }

// Find returns the numbers of known words.
func (w *Words) Find(all []string) []uint32 {
	var out []uint32
	for _, s := range all {
		if n := w.numbers[s]; n != 0 {
			out = append(out, n)
		}
	}
	return out
}

// All returns all numbers.
func (w *Words) All() []uint32 {
	out := make([]uint32, len(w.numbers))
	for i := range out {
		out[i] = uint32(i + 1)
	}
	return out
}

// Fill initializes an empty Words with concatenated words, whose memory it shares. ends contains
// the end of each word by number, starting with the empty word. Fill reports whether all words are
// distinct.
func (w *Words) Fill(ends []uint64, texts []byte) bool {
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

// Containing returns the nonempty words that contain a text.
func (w *Words) Containing(text string) (out Set) {
	for n, word := range w.texts {
		if n > 0 && strings.Contains(word, text) {
			out.Add(uint32(n))
		}
	}
	return out
}
