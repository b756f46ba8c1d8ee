package checkpoint

import "fmt"

// PieceBytes is about how much is gathered before it is written.
const PieceBytes = 256 << 10

// Flush writes packed values once they have at least so many bytes.
func (w *Writer) Flush(p *Packer, least int) {
	if len(p.buf) > 0 && len(p.buf) >= least {
		w.Append(p.buf)
		p.buf = p.buf[:0]
	}
}

// Words writes a section of words: how long they are, then all of them. The first word is empty and is left out.
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

// Texts writes a section of the same form from texts that stand one behind the other. ends has the end of each text;
// the first end is that of the empty text, which is left out.
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

// Texts reads a section of words or texts, none of them empty. It returns where each ends, that of the empty text
// first, and all of them. A section without texts has no ends.
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

// unpackTexts reads the lengths of texts and the texts themselves.
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
