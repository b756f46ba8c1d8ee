package lexicon

import (
	"encoding/binary"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// Messages numbers the messages of findings in lower case. Messages of the same rule differ in few
// words. So a message is stored as a list of parts, and each distinct part is stored once. This
// reduces memory and search time to about a tenth.
//
// The boundaries between parts depend only on two adjacent bytes. So a searched text is split at
// the same positions wherever it occurs.
type Messages struct {
	parts Texts
	lists Texts // part numbers of a message as varints

	after []uint32 // by part: the part that last followed it
	list  []byte   // parts of the message being numbered
}

// cutBetween reports whether a part ends with a and the next one begins with b. It pseudorandomly
// selects some beginnings of words in ASCII, and some positions after other bytes. In typical
// messages of scanners, a part has about 30 bytes.
func cutBetween(a, b byte) bool {
	chance := (uint32(a)<<8 | uint32(b)) * 2654435769
	switch {
	case a >= utf8.RuneSelf:
		return chance>>27 == 0
	case 'a' <= a && a <= 'z', '0' <= a && a <= '9', a == '_':
		return false
	}
	return chance>>29 == 0
}

// nextPart splits the first part off a text.
func nextPart(s string) (part, rest string) {
	for i := 1; i < len(s); i++ {
		if cutBetween(s[i-1], s[i]) {
			return s[:i], s[i:]
		}
	}
	return s, ""
}

// Number returns the number of a message and assigns one if necessary. The empty message has number
// 0.
func (m *Messages) Number(message string) uint32 {
	m.list = m.list[:0]
	for last := uint32(0); message != ""; {
		n, size := m.part(last, message)
		m.list = binary.AppendUvarint(m.list, uint64(n))
		last, message = n, message[size:]
	}
	return m.lists.Number(unsafe.String(unsafe.SliceData(m.list), len(m.list)))
}

// part returns the number and size of the first part of message, which follows the part last; 0 is
// the start. Usually this is the part that last followed there, which is quick to verify.
func (m *Messages) part(last uint32, message string) (n uint32, size int) {
	if int(last) < len(m.after) {
		guess := m.parts.text(m.after[last])
		size = len(guess)
		if size > 0 && strings.HasPrefix(message, guess) &&
			(size == len(message) || cutBetween(message[size-1], message[size])) {
			return m.after[last], size
		}
	}
	part, _ := nextPart(message)
	n = m.parts.Number(part)
	for int(last) >= len(m.after) {
		m.after = append(m.after, 0)
	}
	m.after[last] = n
	return n, len(part)
}

// text returns the message of a number.
func (m *Messages) text(n uint32) string {
	var out strings.Builder
	for list := m.lists.text(n); list != ""; {
		var part uint32
		part, list = readPart(list)
		out.WriteString(m.parts.text(part))
	}
	return out.String()
}

// readPart reads the first number of a list of parts. It returns 0 and an empty rest if there is
// none.
func readPart(list string) (n uint32, rest string) {
	for i, shift := 0, 0; i < len(list) && shift < 35; i, shift = i+1, shift+7 {
		n |= uint32(list[i]&0x7f) << shift
		if list[i] < 0x80 {
			return n, list[i+1:]
		}
	}
	return 0, ""
}

// Containing returns the messages that contain a text.
func (m *Messages) Containing(text string) Set {
	first, rest := nextPart(text)
	if rest == "" {
		return m.having(&sequence{first: m.parts.Containing(text)})
	}
	want := sequence{first: m.parts.where(func(part string) bool { return strings.HasSuffix(part, first) }), more: true}
	for {
		part, after := nextPart(rest)
		if after == "" {
			want.last = m.parts.where(func(s string) bool { return strings.HasPrefix(s, part) })
			break
		}
		n := m.parts.find(part)
		if n == 0 {
			return nil
		}
		want.middle, rest = append(want.middle, n), after
	}
	if want.last.Empty() {
		return nil
	}
	return m.having(&want)
}

// sequence describes the parts in which a text occurs. If more is false, the text is within one
// part of first. Otherwise it starts at the end of a part of first and spans the middle parts. It
// ends at the beginning of a part of last.
type sequence struct {
	first  Set
	more   bool
	middle []uint32
	last   Set
}

func (q *sequence) follows(list string) bool {
	if !q.more {
		return true
	}
	var n uint32
	for _, want := range q.middle {
		if n, list = readPart(list); n != want {
			return false
		}
	}
	n, _ = readPart(list)
	return q.last.Has(n)
}

// having returns the messages that contain a sequence.
func (m *Messages) having(q *sequence) Set {
	if q.first.Empty() {
		return nil
	}
	set := make(Set, m.lists.Count()/64+1)
	InParts(m.lists.Count(), func(from, to int) { m.mark(set, q, max(from, 1), to) })
	return set
}

// mark adds the messages that contain a sequence to a set. It scans all lists as one byte sequence,
// because finding the end of each list would take longer than the rest.
func (m *Messages) mark(set Set, q *sequence, n, to int) {
	if n >= to {
		return
	}
	ends, all := m.lists.ends, m.lists.bytes[:m.lists.ends[to-1]]
	part, shift := uint32(0), 0
	for at := ends[n-1]; at < uint64(len(all)); {
		b := all[at]
		at++
		part |= uint32(b&0x7f) << shift
		if shift += 7; b >= 0x80 {
			continue
		}
		if q.first.Has(part) {
			n = m.lists.holder(n, at-1)
			if end := ends[n]; q.follows(unsafe.String(unsafe.SliceData(all), len(all))[at:end]) {
				set[n/64] |= 1 << (n % 64)
				at = end
			}
		}
		part, shift = 0, 0
	}
}

// Tables returns the parts of messages and the lists of parts.
func (m *Messages) Tables() (parts, lists *Texts) { return &m.parts, &m.lists }

// Count returns the number of messages, including the empty message.
func (m *Messages) Count() int { return m.lists.Count() }

// Extra estimates the size in bytes of data outside the tables.
func (m *Messages) Extra() int64 { return int64(cap(m.after)) * 4 }

// Fit reports whether all lists refer to existing parts.
func (m *Messages) Fit() bool {
	missing := m.lists.where(func(list string) bool {
		for list != "" {
			n, rest := readPart(list)
			if n == 0 || int(n) >= m.parts.Count() {
				return true
			}
			list = rest
		}
		return false
	})
	return missing.Empty()
}
