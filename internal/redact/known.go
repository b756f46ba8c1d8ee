package redact

import (
	"maps"
	"slices"
	"sort"
	"strings"
)

// Known replaces known values in texts. At each position the longest value matches. It uses a few
// dozen bytes of memory per value, where strings.Replacer can use two kilobytes: an upload may
// contain a million values.
type Known struct {
	sorted  []string
	shorter []int32  // index of the longest other phrase that is a prefix of this one; -1 if none
	head    int      // bytes of a phrase that are hashed; at most the length of the shortest phrase
	begins  []uint64 // Bloom filter: a bit for the hash of each phrase's first bytes
	shift   uint     // shift that maps a hash to the number of its bit
}

// longestHead is the maximum number of bytes of a phrase that are hashed.
const longestHead = 6

// NewKnown returns a Known of the phrases in sets. The phrases must not be empty.
func NewKnown(sets ...map[string]bool) *Known {
	p := &Known{head: longestHead}
	for _, set := range sets {
		p.sorted = slices.AppendSeq(p.sorted, maps.Keys(set))
	}
	slices.Sort(p.sorted)
	p.sorted = slices.Compact(p.sorted)
	p.shorter = make([]int32, len(p.sorted))
	var around []int32 // indexes of the current phrase and of the phrases that are its prefixes
	for i, phrase := range p.sorted {
		for len(around) > 0 && !strings.HasPrefix(phrase, p.sorted[around[len(around)-1]]) {
			around = around[:len(around)-1]
		}
		p.shorter[i] = -1
		if len(around) > 0 {
			p.shorter[i] = around[len(around)-1]
		}
		around = append(around, int32(i)) //nolint:gosec // an upload tells fewer
		p.head = min(p.head, len(phrase))
	}
	bits := uint(10)
	for 1<<bits < 16*len(p.sorted) {
		bits++
	}
	p.begins, p.shift = make([]uint64, 1<<(bits-6)), 64-bits
	for _, phrase := range p.sorted {
		var key uint64
		for i := range p.head {
			key = p.roll(key, phrase[i])
		}
		bit := p.bit(key)
		p.begins[bit/64] |= 1 << (bit % 64)
	}
	return p
}

// roll adds a byte to a key of the last head bytes.
func (p *Known) roll(key uint64, c byte) uint64 {
	return key>>8 | uint64(c)<<(8*(p.head-1))
}

// bit returns the number of a key's bit, by Fibonacci hashing.
func (p *Known) bit(key uint64) uint64 { return key * 0x9e3779b97f4a7c15 >> p.shift }

// next returns the first phrase in a text at or after a position.
func (p *Known) next(s string, from int) (at Span, ok bool) {
	if len(p.sorted) == 0 {
		return Span{}, false
	}
	var key uint64
	for i := from; i < len(s); i++ {
		key = p.roll(key, s[i])
		begin := i + 1 - p.head
		if begin < from {
			continue
		}
		if bit := p.bit(key); p.begins[bit/64]&(1<<(bit%64)) != 0 {
			if n := p.at(s[begin:]); n > 0 {
				return Span{begin, begin + n}, true
			}
		}
	}
	return Span{}, false
}

// at returns the length of the longest phrase that is a prefix of a text, or 0. That phrase is a
// prefix of the last phrase that is not greater than the text, or is that phrase.
func (p *Known) at(s string) int {
	i := sort.Search(len(p.sorted), func(i int) bool { return p.sorted[i] > s }) - 1
	if i < 0 {
		return 0
	}
	same := 0
	for limit := min(len(p.sorted[i]), len(s)); same < limit && p.sorted[i][same] == s[same]; same++ {
	}
	for ; i >= 0; i = int(p.shorter[i]) {
		if n := len(p.sorted[i]); n <= same {
			return n
		}
	}
	return 0
}

// In reports whether a text contains any of the phrases.
func (p *Known) In(s string) bool {
	_, found := p.next(s, 0)
	return found
}

// Redact replaces each phrase in a text with Mark.
func (p *Known) Redact(s string) string {
	var cuts []Span
	for from := 0; ; {
		at, ok := p.next(s, from)
		if !ok {
			return Cut(s, cuts)
		}
		cuts = append(cuts, at)
		from = at.To
	}
}
