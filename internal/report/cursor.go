package report

import (
	"encoding/binary"
	"math/bits"

	"github.com/redoubt/redoubt/internal/report/read"
)

// cursor goes once through JSON in memory: it finds it sound and takes it apart in one
// pass, where encoding/json takes three. It knows two ways to stop: short, where the
// text ends before the value does, and odd, where it is no JSON or nothing that tools
// write, as a value that nests too deep. Either way the decoder has to look at the
// value from its beginning, and says what is wrong with it, if anything.
type cursor struct {
	b     []byte
	at    int
	short bool
	odd   bool
	fresh bool   // no member or element of the last object or list was read yet
	name  []byte // of the last member
}

// maxCursorDepth is how deep values may nest for a cursor.
const maxCursorDepth = 100

func (c *cursor) stopped() bool { return c.short || c.odd }

// next passes over space and returns the byte behind it, or 0 once it stopped.
func (c *cursor) next() byte {
	for c.at < len(c.b) {
		switch b := c.b[c.at]; b {
		case ' ', '\t', '\n', '\r':
			c.at++
		case 0:
			c.odd = true
			return 0
		default:
			return b
		}
	}
	c.short = true
	return 0
}

// open enters an object or a list; it reports false, and stays, at anything else.
func (c *cursor) open(opening byte) bool {
	if c.stopped() || c.next() != opening {
		return false
	}
	c.at++
	c.fresh = true
	return true
}

// more goes to the next member or element, or leaves the object or list.
func (c *cursor) more(closing byte) bool {
	b := c.next()
	switch {
	case c.stopped():
		return false
	case b == closing:
		c.at++
		c.fresh = false
		return false
	case c.fresh:
		c.fresh = false
	case b == ',':
		c.at++
		c.next()
	default:
		c.odd = true
	}
	return !c.stopped()
}

// member goes to the value of the next member, whose name it keeps, or leaves the object.
func (c *cursor) member() bool {
	if !c.more('}') {
		return false
	}
	raw, escaped := c.text()
	if c.stopped() || escaped || c.next() != ':' {
		c.odd = c.odd || !c.short
		return false
	}
	c.at++
	c.name = raw[1 : len(raw)-1]
	return true
}

// text passes over a string and returns it as it stands, with its quotes, and whether
// something in it is escaped.
func (c *cursor) text() (raw []byte, escaped bool) {
	if c.next() != '"' {
		c.odd = c.odd || !c.short
		return nil, false
	}
	from := c.at
	for i := c.at + 1; ; {
		i = skipPlain(c.b, i)
		if i >= len(c.b) {
			c.short = true
			return nil, false
		}
		switch b := c.b[i]; {
		case b == '"':
			c.at = i + 1
			return c.b[from:c.at], escaped
		case b != '\\': // a control character
			c.odd = true
			return nil, false
		}
		n := escapeLength(c.b[i:])
		if n == 0 {
			c.short, c.odd = len(c.b)-i < 6, len(c.b)-i >= 6
			return nil, false
		}
		i += n
		escaped = true
	}
}

// Bytes of one value each, for eight at a time.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// skipPlain passes over bytes of a string that mean themselves: all but quotation
// marks, backslashes and control characters.
func skipPlain(b []byte, i int) int {
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		quote, slash := w^ones*'"', w^ones*'\\'
		// The lowest mark is right; those above it may be of its borrow.
		marks := ((w-ones*' ')&^w | (quote-ones)&^quote | (slash-ones)&^slash) & highs
		if marks != 0 {
			return i + bits.TrailingZeros64(marks)/8
		}
	}
	for i < len(b) && b[i] >= ' ' && b[i] != '"' && b[i] != '\\' {
		i++
	}
	return i
}

// escapeLength is how long the escape is that a text begins with; 0 is none, or not all
// of it.
func escapeLength(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) < 6 {
			return 0
		}
		for _, d := range b[2:6] {
			if d|0x20 < 'a' && (d < '0' || d > '9') || d|0x20 > 'f' {
				return 0
			}
		}
		return 6
	}
	return 0
}

// value passes over any value and returns it as it stands.
func (c *cursor) value() []byte {
	c.next()
	from := c.at
	c.skip(0)
	if c.stopped() {
		return nil
	}
	return c.b[from:c.at]
}

func (c *cursor) skip(depth int) {
	switch b := c.next(); {
	case c.stopped():
	case depth > maxCursorDepth:
		c.odd = true
	case b == '"':
		c.text()
	case b == '{':
		for c.open('{'); c.member(); {
			c.skip(depth + 1)
		}
	case b == '[':
		for c.open('['); c.more(']'); {
			c.skip(depth + 1)
		}
	case b == 't':
		c.word("true")
	case b == 'f':
		c.word("false")
	case b == 'n':
		c.word("null")
	default:
		c.number()
	}
}

// word passes over a word that is expected.
func (c *cursor) word(word string) {
	rest := c.b[c.at:]
	switch {
	case len(rest) < len(word):
		c.short = true
	case string(rest[:len(word)]) != word:
		c.odd = true
	default:
		c.at += len(word)
	}
}

// number passes over a number.
func (c *cursor) number() {
	i := c.at
	digits := func() {
		from := i
		for i < len(c.b) && '0' <= c.b[i] && c.b[i] <= '9' {
			i++
		}
		c.odd = c.odd || i == from
	}
	is := func(a, b byte) bool { return i < len(c.b) && (c.b[i] == a || c.b[i] == b) }
	if is('-', '-') {
		i++
	}
	if is('0', '0') {
		i++
	} else {
		digits()
	}
	if is('.', '.') {
		i++
		digits()
	}
	if is('e', 'E') {
		i++
		if is('+', '-') {
			i++
		}
		digits()
	}
	if i == len(c.b) { // it may go on
		c.short, c.odd = true, false
	}
	c.at = i
}

// isNull passes over null, and tells whether that was there.
func (c *cursor) isNull() bool {
	if c.next() != 'n' {
		return false
	}
	c.word("null")
	return true
}

// textInto reads what read.Text makes of a value.
func (c *cursor) textInto(t *read.Text) {
	if c.next() != '"' {
		if raw := c.value(); raw != nil {
			_ = t.UnmarshalJSON(raw) // it never fails
		}
		return
	}
	if raw, _ := c.text(); raw != nil {
		*t = read.Text(read.Unquote(raw))
	}
}

// numberInto reads what read.Number makes of a value.
func (c *cursor) numberInto(n *read.Number) {
	raw := c.value()
	if len(raw) == 0 {
		return
	}
	if len(raw) < 9 {
		small := 0
		for _, d := range raw {
			if d < '0' || d > '9' {
				small = -1
				break
			}
			small = 10*small + int(d-'0')
		}
		if small >= 0 {
			*n = read.Number(small)
			return
		}
	}
	_ = n.UnmarshalJSON(raw) // it never fails
}
