package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
)

// maxQuick is the longest element that is read without the decoder, in bytes.
const maxQuick = 1 << 20

// quickArray is array for a member of the document that has many elements, of which
// most are as tools write them: parse reads the one that the cursor is at, or has it
// stop, and take takes what it read. From the first on that it stops at, element takes
// them by the decoder, which says what is wrong with them. It takes the first list of a
// document only: behind that the decoder stands on what was read ahead, too, and no
// tool writes a second one.
func (w *walker) quickArray(where string, parse func(*cursor), take func(item string, size int) error, element func(item string) error) error {
	if w.quick {
		return w.array(where, element)
	}
	some, err := w.begin(where, '[', "a list")
	if err != nil || !some {
		return err
	}
	w.quick = true
	q := quickList{w: w, offset: w.offset()}
	if q.text, err = io.ReadAll(w.dec.Buffered()); err != nil {
		return w.fault(where, err)
	}
	count, err := q.read(where, parse, take)
	if err != nil {
		return err
	}
	if err := q.resume(where, count); err != nil {
		return err
	}
	return w.elements(where, count, element)
}

// quickList is a list on its way through memory.
type quickList struct {
	w      *walker
	text   []byte // read and not taken yet
	spare  []byte // what text is read into, from its beginning
	offset int64  // of text, in the file
	err    error  // that ended the last reading
}

// read takes elements until the list ends or one stops it, and returns how many. What
// it did not take is left, with what stands before it.
func (q *quickList) read(where string, parse func(*cursor), take func(item string, size int) error) (count int, err error) {
	name := append([]byte(where), '[')
	for in := q.w.in; count < in.limits.Items && in.room.err == nil; count++ {
		in.meter.allow(in.limits.Item)
		c, found := q.parse(count == 0, parse)
		if !found {
			return count, nil
		}
		q.w.index, q.w.at = count, q.offset+int64(c.at)
		if err := take(string(append(strconv.AppendInt(name, int64(count), 10), ']')), c.at); err != nil {
			return count, err
		}
		q.text, q.offset, q.err = q.text[c.at:], q.offset+int64(c.at), nil
	}
	return count, nil
}

// parse reads the next element, and more of the file where it is not all there.
func (q *quickList) parse(first bool, parse func(*cursor)) (c cursor, found bool) {
	for {
		c = cursor{b: q.text, fresh: first}
		if found = c.more(']'); found {
			parse(&c)
		}
		if !c.short || !q.grow() {
			return c, found && !c.stopped()
		}
	}
}

// grow reads on, at least as much as there is, so that an element is looked at few
// times. It reports false where nothing came.
func (q *quickList) grow() bool {
	before := len(q.text)
	if before > maxQuick {
		return false
	}
	want := max(2*before, headSize)
	q.spare = append(slices.Grow(q.spare[:0], want), q.text...)
	q.text = q.spare
	for q.err = nil; q.err == nil && len(q.text) < want; {
		var n int
		n, q.err = q.w.in.Read(q.text[len(q.text):want])
		q.text = q.text[:len(q.text)+n]
	}
	return len(q.text) > before
}

// resume has the decoder go on where the list was left, after so many elements.
func (q *quickList) resume(where string, count int) error {
	before, tokens := `{"`+where+`":[`, 3
	if count > 0 {
		before, tokens = before+"0", 4
	}
	rest := io.Reader(q.w.in)
	if q.err != nil && !errors.Is(q.err, io.EOF) {
		rest = failing{q.err}
	}
	w := q.w
	w.dec = json.NewDecoder(io.MultiReader(bytes.NewReader([]byte(before)), bytes.NewReader(q.text), rest))
	w.base = q.offset - int64(len(before))
	for range tokens {
		if _, err := w.dec.Token(); err != nil {
			return w.fault(where, err)
		}
	}
	return nil
}

// failing is a reader that fails.
type failing struct{ err error }

// Read implements io.Reader.
func (f failing) Read([]byte) (int, error) { return 0, f.err }
