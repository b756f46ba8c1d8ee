package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// A file of a checkpoint is a beginning, sections one behind the other, a directory
// of them, and an end of fixed size that says where the directory is. Each byte is
// under a checksum or compared with what it must be, so that none can change
// unnoticed; nothing is allocated before its size was compared with the file's.
//
//	fileBegin │ section │ section │ … │ directory │ end

const (
	fileBegin = "redoubt\x00index\x00\r\n" // the line ends show a copy that changed texts
	fileEnd   = "\x00end of index\x00\r\n"
	endBytes  = 8 + 8 + 4 + len(fileEnd) // size of the file, of the directory, the directory's checksum
	maxParts  = 1 << 12
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// section is a part of a file.
type section struct {
	name   string
	offset int64
	size   int64
	sum    uint32 // CRC-32C
}

// heading is what the directory says of the whole file.
type heading struct {
	layout     [32]byte // see layoutSum
	deployment int64
	version    int64
	id         string
	findings   int64
	sections   []section
}

func (h *heading) pack() []byte {
	var p packer
	p.bytes(h.layout[:])
	p.int(h.deployment)
	p.int(h.version)
	p.text(h.id)
	p.int(h.findings)
	p.count(len(h.sections))
	for _, s := range h.sections {
		p.text(s.name)
		p.int(s.offset)
		p.int(s.size)
		p.uint(uint64(s.sum))
	}
	return p.buf
}

func unpackHeading(b []byte) (*heading, error) {
	u := &unpacker{buf: b}
	h := &heading{}
	if n := copy(h.layout[:], u.bytes()); n != len(h.layout) {
		u.fail()
	}
	h.deployment, h.version, h.id, h.findings = u.int(), u.int(), u.text(), u.int()
	for range u.below(maxParts) {
		h.sections = append(h.sections, section{name: u.text(), offset: u.int(), size: u.int(), sum: uint32(u.below(1 << 32))})
	}
	return h, u.end()
}

// sectionWriter writes the sections of a file. The first error ends it.
type sectionWriter struct {
	to       io.Writer
	at       int64
	sections []section
	err      error
}

func newSectionWriter(to io.Writer) *sectionWriter {
	w := &sectionWriter{to: to}
	w.raw([]byte(fileBegin))
	return w
}

func (w *sectionWriter) raw(b []byte) {
	if w.err == nil {
		_, w.err = w.to.Write(b)
		w.at += int64(len(b))
	}
}

// Err returns the first error of writing.
func (w *sectionWriter) Err() error { return w.err }

// begin starts a section.
func (w *sectionWriter) begin(name string) {
	w.sections = append(w.sections, section{name: name, offset: w.at})
}

// write adds to the section that began last.
func (w *sectionWriter) write(b []byte) {
	s := &w.sections[len(w.sections)-1]
	s.size += int64(len(b))
	s.sum = crc32.Update(s.sum, castagnoli, b)
	w.raw(b)
}

// section writes one at once.
func (w *sectionWriter) section(name string, b []byte) {
	w.begin(name)
	w.write(b)
}

// finish writes what tells where everything is.
func (w *sectionWriter) finish(h heading) error {
	h.sections = w.sections
	directory := h.pack()
	w.raw(directory)
	end := binary.LittleEndian.AppendUint64(nil, uint64(w.at)+uint64(endBytes))
	end = binary.LittleEndian.AppendUint64(end, uint64(len(directory)))
	end = binary.LittleEndian.AppendUint32(end, crc32.Checksum(directory, castagnoli))
	w.raw(append(end, fileEnd...))
	return w.err
}

// sectionReader reads the sections of a file. It is safe for concurrent use.
type sectionReader struct {
	heading

	from io.ReaderAt
}

var errNoCheckpoint = errors.New("it is no checkpoint, or not all of one")

// openSections reads what tells where everything is.
func openSections(from io.ReaderAt, size int64) (*sectionReader, error) {
	if size < int64(len(fileBegin)+endBytes) {
		return nil, errNoCheckpoint
	}
	begin, end := make([]byte, len(fileBegin)), make([]byte, endBytes)
	if err := readAt(from, begin, 0); err != nil {
		return nil, err
	}
	if err := readAt(from, end, size-int64(endBytes)); err != nil {
		return nil, err
	}
	listed := binary.LittleEndian.Uint64(end[8:])
	if string(begin) != fileBegin || string(end[20:]) != fileEnd || binary.LittleEndian.Uint64(end) != uint64(size) ||
		listed > uint64(size-int64(len(fileBegin)+endBytes)) {
		return nil, errNoCheckpoint
	}
	directory := make([]byte, listed)
	at := size - int64(endBytes) - int64(listed)
	if err := readAt(from, directory, at); err != nil {
		return nil, err
	}
	if crc32.Checksum(directory, castagnoli) != binary.LittleEndian.Uint32(end[16:]) {
		return nil, errors.New("its directory is damaged")
	}
	h, err := unpackHeading(directory)
	if err != nil {
		return nil, err
	}
	next := int64(len(fileBegin))
	for _, s := range h.sections {
		if s.offset != next || s.size < 0 || s.size > at-next {
			return nil, fmt.Errorf("its section %.40q is not where it should be", s.name)
		}
		next += s.size
	}
	if next != at {
		return nil, errNoCheckpoint
	}
	return &sectionReader{heading: *h, from: from}, nil
}

func readAt(from io.ReaderAt, b []byte, at int64) error {
	n, err := from.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	return fmt.Errorf("it cannot be read: %w", err)
}

func (r *sectionReader) find(name string) (section, error) {
	for _, s := range r.sections {
		if s.name == name {
			return s, nil
		}
	}
	return section{}, fmt.Errorf("it has no section %s", name)
}

// read returns a section, whose checksum is right.
func (r *sectionReader) read(name string) ([]byte, error) {
	s, err := r.find(name)
	if err != nil {
		return nil, err
	}
	b := make([]byte, s.size)
	return b, r.into(s, b)
}

// into fills b, which is as long as the section.
func (r *sectionReader) into(s section, b []byte) error {
	if err := readAt(r.from, b, s.offset); err != nil {
		return err
	}
	if crc32.Checksum(b, castagnoli) != s.sum {
		return fmt.Errorf("its section %s is damaged", s.name)
	}
	return nil
}

// readRaw reads a section that is the memory of a list. T must not contain pointers.
func readRaw[T any](r *sectionReader, name string) ([]T, error) {
	s, err := r.find(name)
	if err != nil {
		return nil, err
	}
	each := int64(len(raw(make([]T, 1))))
	if s.size%each != 0 {
		return nil, fmt.Errorf("its section %s has no whole number of entries", name)
	}
	list := make([]T, s.size/each)
	return list, r.into(s, raw(list))
}
