package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"github.com/RoaringBitmap/roaring/v2"
)

// packer writes small values one behind the other.
type packer struct{ buf []byte }

// packed returns what was written.
func (p *packer) packed() []byte { return p.buf }

func (p *packer) uint(v uint64) { p.buf = binary.AppendUvarint(p.buf, v) }

func (p *packer) int(v int64) { p.buf = binary.AppendVarint(p.buf, v) }

func (p *packer) count(n int) { p.uint(uint64(n)) }

func (p *packer) bool(v bool) {
	if v {
		p.uint(1)
	} else {
		p.uint(0)
	}
}

func (p *packer) text(s string) {
	p.count(len(s))
	p.buf = append(p.buf, s...)
}

func (p *packer) bytes(b []byte) {
	p.count(len(b))
	p.buf = append(p.buf, b...)
}

func (p *packer) texts(list []string) {
	p.count(len(list))
	for _, s := range list {
		p.text(s)
	}
}

// errPacked is what ends the reading of values that are not what a packer wrote.
var errPacked = errors.New("it holds something else than was written")

// unpacker reads what a packer wrote. After the first fault it returns zeros, and
// err says so: what was read is to be thrown away then. It allocates no more than
// a few times what it is given.
type unpacker struct {
	buf []byte
	err error
}

// newUnpacker returns an unpacker of what a packer wrote.
func newUnpacker(b []byte) *unpacker { return &unpacker{buf: b} }

// Err returns the first fault.
func (u *unpacker) Err() error { return u.err }

func (u *unpacker) fail() {
	if u.err == nil {
		u.err = errPacked
	}
	u.buf = nil
}

func (u *unpacker) uint() uint64 {
	v, n := binary.Uvarint(u.buf)
	if n <= 0 {
		u.fail()
		return 0
	}
	u.buf = u.buf[n:]
	return v
}

func (u *unpacker) int() int64 {
	v, n := binary.Varint(u.buf)
	if n <= 0 {
		u.fail()
		return 0
	}
	u.buf = u.buf[n:]
	return v
}

// below reads a number that is less than a limit.
func (u *unpacker) below(limit int) int {
	v := u.uint()
	if v >= uint64(limit) {
		u.fail()
		return 0
	}
	return int(v)
}

// count reads how many there are of what takes a byte each at least.
func (u *unpacker) count() int { return u.below(len(u.buf) + 1) }

func (u *unpacker) byte() uint8 { return uint8(u.below(256)) }

func (u *unpacker) bool() bool { return u.below(2) == 1 }

// bytes returns a part of what the unpacker was given; nil where it is empty.
func (u *unpacker) bytes() []byte {
	n := u.count()
	if n == 0 {
		return nil
	}
	if n > len(u.buf) { // the number itself took a byte
		u.fail()
		return nil
	}
	b := u.buf[:n:n]
	u.buf = u.buf[n:]
	return b
}

// text returns a text that shares its bytes with what the unpacker was given.
func (u *unpacker) text() string {
	b := u.bytes()
	return unsafe.String(unsafe.SliceData(b), len(b))
}

func (u *unpacker) texts() []string {
	list := make([]string, u.count())
	for i := range list {
		list[i] = u.text()
	}
	return list
}

// bitmap reads a bitmap; nil where none was written.
func (u *unpacker) bitmap() *roaring.Bitmap {
	text := u.bytes()
	if text == nil {
		return nil
	}
	b := roaring.New()
	if err := b.UnmarshalBinary(text); err != nil {
		u.fail()
		return nil
	}
	if err := b.Validate(); err != nil && !b.IsEmpty() {
		u.fail()
		return nil
	}
	return b
}

// end reports what was wrong, and whether anything is left over.
func (u *unpacker) end() error {
	if u.err == nil && len(u.buf) > 0 {
		u.err = fmt.Errorf("%d bytes are left over", len(u.buf))
	}
	return u.err
}

// raw returns the memory of a list. T must not contain pointers.
func raw[T any](list []T) []byte {
	var one T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), len(list)*int(unsafe.Sizeof(one)))
}
