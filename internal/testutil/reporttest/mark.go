package reporttest

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"testing"
)

// Mark is a unique password, and MarkedAddress a URL with it.
const (
	Mark          = "Zq7-MARKED-x9Kd"
	MarkedAddress = "https://ci:" + Mark + "@host.example.com/a/b"
)

// Marked returns copies of a JSON document, each with one text replaced by the address. It replaces
// one text for each path of member names, regardless of indexes in arrays.
func Marked(t testing.TB, doc []byte) [][]byte {
	return Planted(t, doc, func(string) string { return MarkedAddress })
}

// Planted is Marked with a function that returns the replacement of a text.
func Planted(t testing.TB, doc []byte, plant func(text string) string) (copies [][]byte) {
	t.Helper()
	var root any
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	if err := dec.Decode(&root); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	var walk func(way string, v any, put func(any))
	write := func() {
		text, err := json.Marshal(root)
		if err != nil {
			t.Fatal(err)
		}
		copies = append(copies, text)
	}
	walk = func(way string, v any, put func(any)) {
		switch v := v.(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				walk(way+"."+name, v[name], func(x any) { v[name] = x })
			}
		case []any:
			for i := range v {
				walk(way+"[]", v[i], func(x any) { v[i] = x })
			}
		case string:
			if !seen[way] {
				seen[way] = true
				put(plant(v))
				write()
				put(v)
			}
		}
	}
	walk("", root, func(any) {})
	return copies
}

var word = regexp.MustCompile("[^\\s\"'`=,;\\[\\]{}()<>]{2,}")

// MarkedWords returns copies of a text, each with one word replaced by the address.
func MarkedWords(doc []byte) [][]byte {
	return PlantedWords(doc, func(string) string { return MarkedAddress })
}

// PlantedWords is MarkedWords with a function that returns the replacement of a word.
func PlantedWords(doc []byte, plant func(word string) string) (copies [][]byte) {
	seen := map[string]bool{}
	for _, at := range word.FindAllIndex(doc, -1) {
		if w := string(doc[at[0]:at[1]]); !seen[w] && len(seen) < 120 {
			seen[w] = true
			copies = append(copies, slices.Concat(doc[:at[0]], []byte(plant(w)), doc[at[1]:]))
		}
	}
	return copies
}
