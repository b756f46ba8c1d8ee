package redact

import (
	"maps"
	"slices"
	"sort"
	"strings"
)

// Known replaces known values in texts; where several begin at one place, the longest. It
// needs a few dozen bytes of memory for each value. A strings.Replacer can need two kilobytes
// for a value, and an upload may contain a million.
type Known struct {
	sorted  []string
	shorter []int32  // by place: the longest other phrase that one begins with; -1 for none
	head    int      // bytes of the beginnings that are looked up; no phrase is shorter
	begins  []uint64 // a bit for the hash of each beginning, and few others
	shift   uint     // what a hash is shifted by to number its bit
}

// longestHead is the most that is looked up of the beginning of a phrase, in bytes.
const longestHead = 6

// NewKnown makes one of the phrases in sets, which are not empty.
func NewKnown(sets ...map[string]bool) *Known {
	p := &Known{head: longestHead}
	for _, set := range sets {
		p.sorted = slices.AppendSeq(p.sorted, maps.Keys(set))
	}
	slices.Sort(p.sorted)
	p.sorted = slices.Compact(p.sorted)
	p.shorter = make([]int32, len(p.sorted))
	var around []int32 // the phrases that the last one begins with, and itself
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

// roll moves a key of the last bytes on by one.
func (p *Known) roll(key uint64, c byte) uint64 {
	return key>>8 | uint64(c)<<(8*(p.head-1))
}

// bit is the place of a key's bit, by Fibonacci's hash.
func (p *Known) bit(key uint64) uint64 { return key * 0x9e3779b97f4a7c15 >> p.shift }

// next finds the first phrase in a text from a place on.
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

// at is the length of the longest phrase that a text begins with; 0 for none. It is
// among those that the last phrase not behind the text begins with.
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

// In reports whether a text holds any of the phrases.
func (p *Known) In(s string) bool {
	_, found := p.next(s, 0)
	return found
}

// Redact puts a mark in the place of each phrase.
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
