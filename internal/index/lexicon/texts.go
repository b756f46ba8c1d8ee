package lexicon

import (
	"hash/maphash"
	"sort"
	"strings"
	"unsafe"
)

// Texts numbers texts from 1 on, as Words does, where there are as many as
// findings. The empty text is 0: none. The texts stand one behind the other, so that
// to look through all of them is to read memory from one end to the other, and one
// takes some 20 bytes beside its own.
//
// What was written does not change, so whoever holds a copy of the struct may go on
// reading what was there when it was copied.
type Texts struct {
	bytes  []byte
	ends   []uint64 // by number: where a text ends, and the next one begins; the first is the empty one
	shards [shardCount]shard
}

// shardCount is how many tables there are, each of which grows by itself: one of
// millions would have readers wait while it grows.
const shardCount = 64

// shard is a table of open addresses. A slot is a number, and above it a part of the
// text's sum; 0 is a free one.
type shard struct {
	slots []uint64
	used  int
}

// seed has texts that others chose fall on slots that they cannot foresee.
var seed = maphash.MakeSeed()

// Number returns the number of a text, a new one if need be.
func (l *Texts) Number(s string) uint32 {
	if s == "" {
		return 0
	}
	sum := maphash.String(seed, s)
	t := &l.shards[sum>>32%shardCount]
	if n := l.look(t, sum, s); n != 0 {
		return n
	}
	if l.ends == nil {
		l.ends = make([]uint64, 1, 8)
	}
	l.bytes = append(l.bytes, s...)
	l.ends = append(l.ends, uint64(len(l.bytes)))
	n := uint32(len(l.ends) - 1)
	t.add(sum, n)
	return n
}

// find returns the number of a text that is known; 0 of another one.
func (l *Texts) find(s string) uint32 {
	sum := maphash.String(seed, s)
	return l.look(&l.shards[sum>>32%shardCount], sum, s)
}

// look returns the number of a text with a sum; 0 when there is none.
func (l *Texts) look(t *shard, sum uint64, s string) uint32 {
	if len(t.slots) == 0 {
		return 0
	}
	for at := uint32(sum); ; at++ {
		slot := t.slots[at&uint32(len(t.slots)-1)]
		if slot == 0 {
			return 0
		}
		if slot>>32 == uint64(uint32(sum)) && l.text(uint32(slot)) == s {
			return uint32(slot)
		}
	}
}

// add takes a number in that is not there, and has a quarter of the slots stay free.
func (t *shard) add(sum uint64, n uint32) {
	if 4*(t.used+1) > 3*len(t.slots) {
		old := t.slots
		t.slots = make([]uint64, max(2*len(old), 8))
		for _, slot := range old {
			if slot != 0 {
				t.place(slot)
			}
		}
	}
	t.place(uint64(uint32(sum))<<32 | uint64(n))
	t.used++
}

func (t *shard) place(slot uint64) {
	at := uint32(slot >> 32)
	for t.slots[at&uint32(len(t.slots)-1)] != 0 {
		at++
	}
	t.slots[at&uint32(len(t.slots)-1)] = slot
}

// renumber finds the numbers of texts that were read, and reports whether no two are
// the same.
func (l *Texts) renumber() bool {
	for i := range l.shards {
		l.shards[i].slots = make([]uint64, slotsFor(len(l.ends)/shardCount))
	}
	for n := 1; n < len(l.ends); n++ {
		s := l.text(uint32(n))
		sum := maphash.String(seed, s)
		t := &l.shards[sum>>32%shardCount]
		if l.look(t, sum, s) != 0 {
			return false
		}
		t.add(sum, uint32(n))
	}
	return true
}

// slotsFor is how many slots a table of so many numbers has.
func slotsFor(n int) int {
	slots := 8
	for 4*(n+1) > 3*slots {
		slots *= 2
	}
	return slots
}

// Contents returns where the texts end, by number, and all of them one behind the other. Both are read only.
func (l *Texts) Contents() (ends []uint64, texts []byte) { return l.ends, l.bytes }

// Fill adds texts, given as Contents returns them, to an empty Texts, and reports whether all are different.
func (l *Texts) Fill(ends []uint64, texts []byte) bool {
	l.ends, l.bytes = ends, texts
	return l.renumber()
}

// text returns the text of a number, which shares its bytes with others, or nothing.
func (l *Texts) text(n uint32) string {
	if n == 0 || int(n) >= len(l.ends) {
		return ""
	}
	b := l.bytes[l.ends[n-1]:l.ends[n]]
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// Count returns how many numbers there are, that of the empty text among them.
func (l *Texts) Count() int { return max(len(l.ends), 1) }

// Size estimates how many bytes the texts take.
func (l *Texts) Size() int64 {
	total := int64(cap(l.bytes)) + int64(cap(l.ends))*8
	for i := range l.shards {
		total += int64(len(l.shards[i].slots)) * 8
	}
	return total
}

// Containing returns the texts that hold a text; the empty one is none of them.
func (l *Texts) Containing(text string) Set {
	set := make(Set, l.Count()/64+1)
	InParts(l.Count(), func(from, to int) { l.mark(set, text, from, to) })
	return set
}

// mark adds those numbers to a set whose texts hold a text.
func (l *Texts) mark(set Set, text string, from, to int) {
	n := max(from, 1)
	if n >= to {
		return
	}
	all := unsafe.String(unsafe.SliceData(l.bytes), len(l.bytes))[:l.ends[to-1]]
	for n < to {
		at := l.ends[n-1]
		found := strings.Index(all[at:], text)
		if found < 0 {
			return
		}
		at += uint64(found)
		n = l.holder(n, at)
		// Otherwise it crosses the end of the text, as any later occurrence that begins in this text does.
		if at+uint64(len(text)) <= l.ends[n] {
			set[n/64] |= 1 << (n % 64)
		}
		n++
	}
}

// holder returns the number of the text that a byte is in, n or a later one.
func (l *Texts) holder(n int, at uint64) int {
	low, high, last := n, n, len(l.ends)-1
	for step := 1; high < last && l.ends[high] <= at; step *= 2 {
		low, high = high+1, min(high+step, last)
	}
	return low + sort.Search(high-low, func(i int) bool { return l.ends[low+i] > at })
}

// where returns the texts that pass a test; the empty one is none of them.
func (l *Texts) where(test func(text string) bool) Set {
	set := make(Set, l.Count()/64+1)
	InParts(l.Count(), func(from, to int) {
		for n := max(from, 1); n < to; n++ {
			if test(l.text(uint32(n))) {
				set[n/64] |= 1 << (n % 64)
			}
		}
	})
	return set
}
