package redact

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestKnownMatchesStringsReplacer compares Known with strings.NewReplacer, which prefers the
// longest phrase if the phrases are sorted by descending length.
func TestKnownMatchesStringsReplacer(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		set := map[string]bool{}
		for _, s := range rapid.SliceOfN(rapid.StringMatching(`[ab\x00\xff]{6,12}|[abc]{1,3}|abcabc[a-e]{0,140}`), 0, 30).Draw(rt, "phrases") {
			if s != "" {
				set[s] = true
			}
		}
		parts := append([]string{"a", "b", "abcabc", "x", "\xff", ""}, slices.Sorted(maps.Keys(set))...)
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 40).Draw(rt, "text"), "")
		list := slices.SortedFunc(maps.Keys(set), func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
		var pairs []string
		for _, s := range list {
			pairs = append(pairs, s, Mark)
		}
		want := strings.NewReplacer(pairs...).Replace(text)
		p := NewKnown(set)
		if got := p.Redact(text); got != want {
			rt.Fatalf("%q became %q, want %q", text, got, want)
		}
		if p.In(text) != (want != text) {
			rt.Fatalf("%q: %v", text, p.In(text))
		}
	})
}
