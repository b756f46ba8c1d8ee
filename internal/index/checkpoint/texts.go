package checkpoint

import "fmt"

// PieceBytes is the approximate number of bytes to collect before a write.
const PieceBytes = 256 << 10

// Flush writes the packed values if they have at least the given number of bytes.
func (w *Writer) Flush(p *Packer, least int) {
	if len(p.buf) > 0 && len(p.buf) >= least {
		w.Append(p.buf)
		p.buf = p.buf[:0]
	}
}

// Words writes a section of words: the lengths, then the words. The first word must be empty and is
// omitted.
func (w *Writer) Words(name string, list []string) {
	w.Begin(name)
	var p Packer
	p.Count(max(len(list), 1) - 1)
	for _, s := range list[min(1, len(list)):] {
		p.Count(len(s))
		w.Flush(&p, PieceBytes)
	}
	for _, s := range list {
		p.buf = append(p.buf, s...)
		w.Flush(&p, PieceBytes)
	}
	w.Flush(&p, 0)
}

// Texts writes a section in the format of Words from concatenated texts. ends contains the end of
// each text. The first end is that of the empty text, which is omitted.
func (w *Writer) Texts(name string, ends []uint64, all []byte) {
	w.Begin(name)
	var p Packer
	p.Count(max(len(ends), 1) - 1)
	for n := 1; n < len(ends); n++ {
		p.Uint(ends[n] - ends[n-1])
		w.Flush(&p, PieceBytes)
	}
	w.Flush(&p, 0)
	w.Append(all)
}

// Texts reads a section of Words or Texts. It returns the end of each text, starting with the empty
// text, and the concatenated texts. Without texts, ends is nil.
func (r *Reader) Texts(name string) (ends []uint64, all []byte, err error) {
	b, err := r.Section(name)
	if err != nil {
		return nil, nil, err
	}
	if ends, all, err = unpackTexts(b); err != nil {
		return nil, nil, fmt.Errorf("its %s: %w", name, err)
	}
	return ends, all, nil
}

// unpackTexts decodes a section of Words or Texts.
func unpackTexts(b []byte) (ends []uint64, all []byte, err error) {
	u := &Unpacker{buf: b}
	n := u.Count()
	if n == 0 {
		return nil, nil, u.End()
	}
	ends = make([]uint64, n+1)
	for i := range n {
		size := u.Below(len(b) + 1)
		if size == 0 {
			u.Fail()
		}
		ends[i+1] = ends[i] + uint64(size)
	}
	if u.err != nil || ends[n] != uint64(len(u.buf)) {
		return nil, nil, ErrPacked
	}
	return ends, u.buf, nil
}
