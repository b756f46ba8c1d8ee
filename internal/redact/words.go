package redact

import (
	"encoding/binary"
	"strings"
)

// wordSet finds which of up to 64 words a text contains, in one pass. It tests only every second
// byte pair: a word of three bytes or more has two pairs of which one is tested at any position.
// The pairs chosen for each word are the rarest in texts, so that few positions need a comparison
// with the word.
type wordSet struct {
	pairs  [1 << 16 / 64]uint64 // a bit for each chosen pair
	probes [256][]probe         // by the second byte of the pair
	short  []shortWord          // words of two bytes
}

// probe is a word to compare at a pair that was found.
type probe struct {
	first byte // first byte of the pair
	at    int  // position of the pair in the word
	word  string
	bit   uint64 // bit of the word's index
}

type shortWord struct {
	word string
	bit  uint64
}

// newWordSet returns a set of words of at least two bytes.
func newWordSet(words ...string) *wordSet {
	w := &wordSet{}
	for index, word := range words {
		bit := uint64(1) << index
		if len(word) < 3 {
			w.short = append(w.short, shortWord{word, bit})
			continue
		}
		for _, at := range []int{rarestPair(word, 0), rarestPair(word, 1)} {
			pair := binary.LittleEndian.Uint16([]byte(word[at:]))
			w.pairs[pair/64] |= 1 << (pair % 64)
			w.probes[pair>>8] = append(w.probes[pair>>8], probe{word[at], at, word, bit})
		}
	}
	return w
}

// rarestFirst lists the letters of English by ascending frequency.
const rarestFirst = "zqjxkvbywgpfmucdlhrsnioate"

// rarestPair returns the position of the rarest byte pair of a word. The position is at an even
// distance from from.
func rarestPair(word string, from int) (at int) {
	weight := func(c byte) int { return 2 + strings.IndexByte(rarestFirst, c) } // 1 for all but lowercase letters
	least := 0
	for i := from; i+1 < len(word); i += 2 {
		if both := weight(word[i]) * weight(word[i+1]); least == 0 || both < least {
			at, least = i, both
		}
	}
	return at
}

// in returns the words that a text contains, as a bit for the index of each.
func (w *wordSet) in(s string) (found uint64) {
	for _, short := range w.short {
		if strings.Contains(s, short.word) {
			found |= short.bit
		}
	}
	i := 0
	for ; i+8 <= len(s); i += 8 {
		eight := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
			uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56 // compiles to one load
		a, b, c, d := uint16(eight), uint16(eight>>16), uint16(eight>>32), uint16(eight>>48) //nolint:gosec // its parts
		if (w.pairs[a/64]>>(a%64)|w.pairs[b/64]>>(b%64)|w.pairs[c/64]>>(c%64)|w.pairs[d/64]>>(d%64))&1 != 0 {
			for at := i; at < i+8; at += 2 {
				found |= w.around(s, at)
			}
		}
	}
	for ; i+1 < len(s); i += 2 {
		found |= w.around(s, i)
	}
	return found
}

// around returns the words that occur in a text with their pair at a position.
func (w *wordSet) around(s string, at int) (found uint64) {
	for _, p := range w.probes[s[at+1]] {
		if p.first == s[at] && at >= p.at && strings.HasPrefix(s[at-p.at:], p.word) {
			found |= p.bit
		}
	}
	return found
}
