package lexicon

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// someText draws texts that share words, including non-ASCII text, zero bytes and invalid UTF-8.
func someText() *rapid.Generator[string] {
	word := rapid.SampledFrom([]string{
		"a", "aa", "ab", "user", "input", "command_1", "command_12", " ", " ", ". ", "'", "\x00", "\xff", "ß", "資料", "が", "ünï", "e\u0301", "İ", "ſ", "\n", "shell=false",
	})
	return rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(word, 1, 12).Draw(t, "words"), "") })
}

// somePartOf draws a search text: a part of one of the texts, or another text.
func somePartOf(t *rapid.T, texts []string) string {
	from := rapid.SampledFrom(append(slices.Clone(texts), "b", "資", "\x00")).Draw(t, "of")
	begin := rapid.IntRange(0, len(from)-1).Draw(t, "begin")
	return from[begin:rapid.IntRange(begin+1, len(from)).Draw(t, "end")]
}

// TestSearchMatchesLinearScan checks that a search finds exactly the messages that
// contain the text, regardless of the boundaries between parts.
func TestSearchMatchesLinearScan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(someText(), 1, 30).Draw(t, "texts")
		var m Messages
		var l Texts
		numbers := map[string]uint32{}
		for _, s := range texts {
			n, same := m.Number(s), l.Number(s)
			if was, known := numbers[s]; known && was != n || n == 0 || m.text(n) != s || n != same || l.text(same) != s || l.find(s) != same {
				t.Fatalf("%q has the number %d and %d, which are of %q and %q", s, n, same, m.text(n), l.text(same))
			}
			numbers[s] = n
		}
		if m.lists.Count() != len(numbers)+1 || l.Count() != len(numbers)+1 || !m.Fit() {
			t.Fatalf("%d messages and %d texts of %d are known", m.lists.Count()-1, l.Count()-1, len(numbers))
		}
		search := somePartOf(t, texts)
		in, inTexts := m.Containing(search), l.Containing(search)
		for s, n := range numbers {
			if want := strings.Contains(s, search); in.Has(n) != want || inTexts.Has(n) != want {
				t.Errorf("%q in %q: %v; found as a message: %v, as a text: %v", search, s, want, in.Has(n), inTexts.Has(n))
			}
		}
		if in.Has(0) || inTexts.Has(0) || m.Number("") != 0 || l.Number("") != 0 || l.find("") != 0 || l.text(0) != "" {
			t.Error("the empty text is one")
		}
	})
}

// TestConcurrentSearchCoversAllTexts checks searches that run concurrently on ranges of texts.
func TestConcurrentSearchCoversAllTexts(t *testing.T) {
	var m Messages
	var l Texts
	text := func(i int) string { return fmt.Sprintf("number %d of many, module_%d", i, i%7) }
	const many = 3*fewParts + 77
	for i := range many {
		m.Number(text(i))
		l.Number(text(i))
	}
	for _, search := range []string{"n", "number 6", "7 of many, mod", "99 of many, module_3", "module_6number", "of many, module_2x", strings.Repeat("n", 256), "number 65536 of many, module_2"} {
		in, inTexts := m.Containing(search), l.Containing(search)
		for i := range many {
			if want := strings.Contains(text(i), search); in.Has(uint32(i+1)) != want || inTexts.Has(uint32(i+1)) != want {
				t.Fatalf("%q in %q: %v; found as a message: %v, as a text: %v", search, text(i), want, in.Has(uint32(i+1)), inTexts.Has(uint32(i+1)))
			}
		}
	}
}

// TestCopiedLexiconIsUnchanged checks that a copy of Texts does not change when texts are
// added.
func TestCopiedLexiconIsUnchanged(t *testing.T) {
	var l Texts
	for i := range 1000 {
		l.Number(fmt.Sprint("text ", i))
	}
	then := l
	for i := range 100_000 {
		l.Number(fmt.Sprint("other ", i))
	}
	for i := range 1000 {
		if got := then.text(uint32(i + 1)); got != fmt.Sprint("text ", i) {
			t.Fatalf("text %d is %q", i, got)
		}
	}
	if then.Count() != 1001 || then.text(1001) != "" {
		t.Errorf("%d texts are known", then.Count()-1)
	}
}

// TestInvalidPartListsAreTolerated checks that invalid lists of parts cause neither panics nor endless
// searches.
func TestInvalidPartListsAreTolerated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m Messages
		m.Number("what is said of a thing, and what is not")
		lists := rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 1, 12)).Draw(t, "lists")
		for _, list := range lists {
			m.lists.Number(string(list))
		}
		m.Fit()
		for _, search := range []string{"a", "said of a thing, and what is", "no such"} {
			if !m.Containing(search).Has(1) && search != "no such" {
				t.Errorf("%q is not found", search)
			}
		}
		for n := range m.lists.Count() {
			m.text(uint32(n))
		}
	})
}
