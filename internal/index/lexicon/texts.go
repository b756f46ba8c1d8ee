package lexicon

import (
	"hash/maphash"
	"sort"
	"strings"
	"unsafe"
)

// Texts numbers distinct texts, starting at 1, and is suited to as many texts as findings. The
// empty text has number 0. Texts are concatenated, so a search reads memory sequentially. A text
// needs about 20 bytes in addition to its own.
//
// Written data is immutable. So a copy of the struct remains readable while texts are added to the
// original.
type Texts struct {
	bytes  []byte
	ends   []uint64 // by number: end of the text and start of the next one; the first is the empty text
	shards [shardCount]shard
}

// shardCount is the number of hash tables. They grow independently, because growing a single table
// of millions of entries would delay readers.
const shardCount = 64

// shard is a hash table with open addressing. A slot contains a number, with part of the text's
// hash in the upper 32 bits. 0 is a free slot.
type shard struct {
	slots []uint64
	used  int
}

// seed makes hashes unpredictable to authors of texts.
var seed = maphash.MakeSeed()

// Number returns the number of a text and assigns one if necessary.
func (l *Texts) Number(s string) uint32 {
	if s == "" {
		return 0
	}
	sum := maphash.String(seed, s)
	t := &l.shards[sum>>32%shardCount]
	if n := l.lookup(t, sum, s); n != 0 {
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

// find returns the number of a text, or 0 if it is unknown.
func (l *Texts) find(s string) uint32 {
	sum := maphash.String(seed, s)
	return l.lookup(&l.shards[sum>>32%shardCount], sum, s)
}

// lookup returns the number of a text with the given hash, or 0 if there is none.
func (l *Texts) lookup(t *shard, sum uint64, s string) uint32 {
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

// add inserts a new number and grows the table to leave at least a quarter of its slots free.
func (t *shard) add(sum uint64, n uint32) {
	if 4*(t.used+1) > 3*len(t.slots) {
		old := t.slots
		t.slots = make([]uint64, max(2*len(old), 8))
		for _, slot := range old {
			if slot != 0 {
				t.insert(slot)
			}
		}
	}
	t.insert(uint64(uint32(sum))<<32 | uint64(n))
	t.used++
}

func (t *shard) insert(slot uint64) {
	at := uint32(slot >> 32)
	for t.slots[at&uint32(len(t.slots)-1)] != 0 {
		at++
	}
	t.slots[at&uint32(len(t.slots)-1)] = slot
}

// renumber builds the hash tables, and reports whether all texts are distinct.
func (l *Texts) renumber() bool {
	for i := range l.shards {
		l.shards[i].slots = make([]uint64, slotsFor(len(l.ends)/shardCount))
	}
	for n := 1; n < len(l.ends); n++ {
		s := l.text(uint32(n))
		sum := maphash.String(seed, s)
		t := &l.shards[sum>>32%shardCount]
		if l.lookup(t, sum, s) != 0 {
			return false
		}
		t.add(sum, uint32(n))
	}
	return true
}

// slotsFor returns the number of slots for n numbers.
func slotsFor(n int) int {
	slots := 8
	for 4*(n+1) > 3*slots {
		slots *= 2
	}
	return slots
}

// Contents returns the end of each text by number, and the concatenated texts. Both are read-only.
func (l *Texts) Contents() (ends []uint64, texts []byte) { return l.ends, l.bytes }

// Fill initializes an empty Texts with values from Contents, and reports whether all texts are
// distinct.
func (l *Texts) Fill(ends []uint64, texts []byte) bool {
	l.ends, l.bytes = ends, texts
	return l.renumber()
}

// text returns the text of a number, or "" if there is none. It shares the memory of the lexicon.
func (l *Texts) text(n uint32) string {
	if n == 0 || int(n) >= len(l.ends) {
		return ""
	}
	b := l.bytes[l.ends[n-1]:l.ends[n]]
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// Count returns the number of texts, including the empty text.
func (l *Texts) Count() int { return max(len(l.ends), 1) }

// Size estimates the size of the texts in bytes.
func (l *Texts) Size() int64 {
	total := int64(cap(l.bytes)) + int64(cap(l.ends))*8
	for i := range l.shards {
		total += int64(len(l.shards[i].slots)) * 8
	}
	return total
}

// Containing returns the nonempty texts that contain a text.
func (l *Texts) Containing(text string) Set {
	set := make(Set, l.Count()/64+1)
	InParts(l.Count(), func(from, to int) { l.mark(set, text, from, to) })
	return set
}

// mark adds the numbers of texts that contain text to a set.
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
		// Otherwise the occurrence crosses the end of this text, as do later ones that begin in it.
		if at+uint64(len(text)) <= l.ends[n] {
			set[n/64] |= 1 << (n % 64)
		}
		n++
	}
}

// holder returns the number of the text that contains the byte at an offset, which is n or more.
func (l *Texts) holder(n int, at uint64) int {
	low, high, last := n, n, len(l.ends)-1
	for step := 1; high < last && l.ends[high] <= at; step *= 2 {
		low, high = high+1, min(high+step, last)
	}
	return low + sort.Search(high-low, func(i int) bool { return l.ends[low+i] > at })
}

// where returns the nonempty texts that pass a test.
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
