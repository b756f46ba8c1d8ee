package redact

import (
	"encoding/binary"
	"strings"
)

// wordSet finds which of up to 64 words a text holds, in one pass over it whatever the
// words are. It looks at every second pair of bytes: a word of three bytes or more has
// two pairs of which one is among them wherever the word stands. Those were chosen that
// texts hold least, so that few of a text's pairs are one, and there the word is compared.
type wordSet struct {
	pairs  [1 << 16 / 64]uint64 // a bit for each pair that was chosen
	probes [256][]probe         // by the second byte of the pair
	short  []shortWord          // those of two bytes
}

// probe is a word to look for where a pair was found.
type probe struct {
	first byte // of the pair
	at    int  // of the pair in the word
	word  string
	bit   uint64 // of the word's place
}

type shortWord struct {
	word string
	bit  uint64
}

// newWordSet makes a set of words of two bytes and more.
func newWordSet(words ...string) *wordSet {
	w := &wordSet{}
	for place, word := range words {
		bit := uint64(1) << place
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

// rarestFirst are the letters of English, from the one that texts hold least.
const rarestFirst = "zqjxkvbywgpfmucdlhrsnioate"

// rarestPair is where a word has the pair of bytes that texts hold least, an even
// number of bytes from a place.
func rarestPair(word string, from int) (at int) {
	weight := func(c byte) int { return 2 + strings.IndexByte(rarestFirst, c) } // 1 of what is no small letter
	least := 0
	for i := from; i+1 < len(word); i += 2 {
		if both := weight(word[i]) * weight(word[i+1]); least == 0 || both < least {
			at, least = i, both
		}
	}
	return at
}

// in returns the words that a text holds, a bit for the place of each.
func (w *wordSet) in(s string) (found uint64) {
	for _, short := range w.short {
		if strings.Contains(s, short.word) {
			found |= short.bit
		}
	}
	i := 0
	for ; i+8 <= len(s); i += 8 {
		eight := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
			uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56 // which is one load
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

// around returns the words that have the pair at a place of a text where it stands.
func (w *wordSet) around(s string, at int) (found uint64) {
	for _, p := range w.probes[s[at+1]] {
		if p.first == s[at] && at >= p.at && strings.HasPrefix(s[at-p.at:], p.word) {
			found |= p.bit
		}
	}
	return found
}
