package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// A checkpoint file consists of a beginning, sections, a directory and an end of fixed size, which
// locates the directory. Each byte is covered by a checksum or compared with its expected value.
// Sizes are compared with the file size before memory is allocated.
//
//	fileBegin │ section │ section │ … │ directory │ end

const (
	fileBegin = "redoubt\x00index\x00\r\n" // the line ends reveal a transfer in text mode
	fileEnd   = "\x00end of index\x00\r\n"
	endBytes  = 8 + 8 + 4 + len(fileEnd) // file size, directory size, checksum of the directory, fileEnd
	maxParts  = 1 << 12
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Section is a section of a file.
type Section struct {
	Name   string
	offset int64
	size   int64
	Sum    uint32 // CRC-32C
}

// Heading describes a file. It is stored in the directory.
type Heading struct {
	Layout     [32]byte // checksum of the memory layout in sections
	Deployment int64
	Version    int64  // of the deployment
	ID         string // of the checkpoint, see Registry
	Findings   int64  // number of findings
	Sections   []Section
}

func (h *Heading) pack() []byte {
	var p Packer
	p.Bytes(h.Layout[:])
	p.Int(h.Deployment)
	p.Int(h.Version)
	p.Text(h.ID)
	p.Int(h.Findings)
	p.Count(len(h.Sections))
	for _, s := range h.Sections {
		p.Text(s.Name)
		p.Int(s.offset)
		p.Int(s.size)
		p.Uint(uint64(s.Sum))
	}
	return p.buf
}

func unpackHeading(b []byte) (*Heading, error) {
	u := &Unpacker{buf: b}
	h := &Heading{}
	if n := copy(h.Layout[:], u.Bytes()); n != len(h.Layout) {
		u.Fail()
	}
	h.Deployment, h.Version, h.ID, h.Findings = u.Int(), u.Int(), u.Text(), u.Int()
	for range u.Below(maxParts) {
		h.Sections = append(h.Sections, Section{
			Name:   u.Text(),
			offset: u.Int(),
			size:   u.Int(),
			Sum:    uint32(u.Below(1 << 32)),
		})
	}
	return h, u.End()
}

// Writer writes a checkpoint file. After the first error it writes nothing.
type Writer struct {
	to       io.Writer
	at       int64
	sections []Section
	err      error
}

// NewWriter returns a Writer and writes the beginning of the file.
func NewWriter(to io.Writer) *Writer {
	w := &Writer{to: to}
	w.raw([]byte(fileBegin))
	return w
}

func (w *Writer) raw(b []byte) {
	if w.err == nil {
		_, w.err = w.to.Write(b)
		w.at += int64(len(b))
	}
}

// Err returns the first write error.
func (w *Writer) Err() error { return w.err }

// Begin starts a section.
func (w *Writer) Begin(name string) {
	w.sections = append(w.sections, Section{Name: name, offset: w.at})
}

// Append adds bytes to the current section.
func (w *Writer) Append(b []byte) {
	s := &w.sections[len(w.sections)-1]
	s.size += int64(len(b))
	s.Sum = crc32.Update(s.Sum, castagnoli, b)
	w.raw(b)
}

// Section writes a complete section.
func (w *Writer) Section(name string, b []byte) {
	w.Begin(name)
	w.Append(b)
}

// Finish writes the directory and the end, and returns the first error. It sets the sections of the
// heading.
func (w *Writer) Finish(h Heading) error {
	h.Sections = w.sections
	directory := h.pack()
	w.raw(directory)
	end := binary.LittleEndian.AppendUint64(nil, uint64(w.at)+uint64(endBytes))
	end = binary.LittleEndian.AppendUint64(end, uint64(len(directory)))
	end = binary.LittleEndian.AppendUint32(end, crc32.Checksum(directory, castagnoli))
	w.raw(append(end, fileEnd...))
	return w.err
}

// Reader reads the sections of a file. It is safe for concurrent use.
type Reader struct {
	Heading

	from io.ReaderAt
}

var errNoCheckpoint = errors.New("it is not a complete checkpoint")

// Open reads and verifies the directory of a file of the given size.
func Open(from io.ReaderAt, size int64) (*Reader, error) {
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
	for _, s := range h.Sections {
		if s.offset != next || s.size < 0 || s.size > at-next {
			return nil, fmt.Errorf("its section %.40q is at the wrong offset", s.Name)
		}
		next += s.size
	}
	if next != at {
		return nil, errNoCheckpoint
	}
	return &Reader{Heading: *h, from: from}, nil
}

func readAt(from io.ReaderAt, b []byte, at int64) error {
	n, err := from.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	return fmt.Errorf("it cannot be read: %w", err)
}

func (r *Reader) find(name string) (Section, error) {
	for _, s := range r.Sections {
		if s.Name == name {
			return s, nil
		}
	}
	return Section{}, fmt.Errorf("it has no section %s", name)
}

// Section returns the bytes of a section after verifying their checksum.
func (r *Reader) Section(name string) ([]byte, error) {
	s, err := r.find(name)
	if err != nil {
		return nil, err
	}
	b := make([]byte, s.size)
	return b, r.into(s, b)
}

// into reads a section into b, which must have its size, and verifies the checksum.
func (r *Reader) into(s Section, b []byte) error {
	if err := readAt(r.from, b, s.offset); err != nil {
		return err
	}
	if crc32.Checksum(b, castagnoli) != s.Sum {
		return fmt.Errorf("its section %s is damaged", s.Name)
	}
	return nil
}

// ReadRaw reads a section that was written with Raw. T must not contain pointers.
func ReadRaw[T any](r *Reader, name string) ([]T, error) {
	s, err := r.find(name)
	if err != nil {
		return nil, err
	}
	each := int64(len(Raw(make([]T, 1))))
	if s.size%each != 0 {
		return nil, fmt.Errorf("its section %s has an incomplete entry", name)
	}
	list := make([]T, s.size/each)
	return list, r.into(s, Raw(list))
}
