package index

import "fmt"

// pieceBytes is about how much is gathered before it is written.
const pieceBytes = 256 << 10

// flush writes packed values once they have at least so many bytes.
func (w *sectionWriter) flush(p *packer, least int) {
	if len(p.buf) > 0 && len(p.buf) >= least {
		w.write(p.buf)
		p.buf = p.buf[:0]
	}
}

// words writes a section of words: how long they are, then all of them. The first word is empty and is left out.
func (w *sectionWriter) words(name string, list []string) {
	w.begin(name)
	var p packer
	p.count(max(len(list), 1) - 1)
	for _, s := range list[min(1, len(list)):] {
		p.count(len(s))
		w.flush(&p, pieceBytes)
	}
	for _, s := range list {
		p.buf = append(p.buf, s...)
		w.flush(&p, pieceBytes)
	}
	w.flush(&p, 0)
}

// texts writes a section of the same form from texts that stand one behind the other. ends has the end of each text;
// the first end is that of the empty text, which is left out.
func (w *sectionWriter) texts(name string, ends []uint64, all []byte) {
	w.begin(name)
	var p packer
	p.count(max(len(ends), 1) - 1)
	for n := 1; n < len(ends); n++ {
		p.uint(ends[n] - ends[n-1])
		w.flush(&p, pieceBytes)
	}
	w.flush(&p, 0)
	w.write(all)
}

// texts reads a section of words or texts, none of them empty. It returns where each ends, that of the empty text
// first, and all of them. A section without texts has no ends.
func (r *sectionReader) texts(name string) (ends []uint64, all []byte, err error) {
	b, err := r.read(name)
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
	u := &unpacker{buf: b}
	n := u.count()
	if n == 0 {
		return nil, nil, u.end()
	}
	ends = make([]uint64, n+1)
	for i := range n {
		size := u.below(len(b) + 1)
		if size == 0 {
			u.fail()
		}
		ends[i+1] = ends[i] + uint64(size)
	}
	if u.err != nil || ends[n] != uint64(len(u.buf)) {
		return nil, nil, errPacked
	}
	return ends, u.buf, nil
}
