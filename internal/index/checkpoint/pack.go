package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"github.com/RoaringBitmap/roaring/v2"
)

// Packer writes small values one behind the other.
type Packer struct{ buf []byte }

// Packed returns the written bytes.
func (p *Packer) Packed() []byte { return p.buf }

// Uint writes an unsigned number.
func (p *Packer) Uint(v uint64) { p.buf = binary.AppendUvarint(p.buf, v) }

// Int writes a number that may be negative.
func (p *Packer) Int(v int64) { p.buf = binary.AppendVarint(p.buf, v) }

// Count writes the length of a list.
func (p *Packer) Count(n int) { p.Uint(uint64(n)) }

// Bool writes a truth value.
func (p *Packer) Bool(v bool) {
	if v {
		p.Uint(1)
	} else {
		p.Uint(0)
	}
}

// Text writes a string with its length.
func (p *Packer) Text(s string) {
	p.Count(len(s))
	p.buf = append(p.buf, s...)
}

// Bytes writes bytes with their length.
func (p *Packer) Bytes(b []byte) {
	p.Count(len(b))
	p.buf = append(p.buf, b...)
}

// Texts writes a list of strings with its length.
func (p *Packer) Texts(list []string) {
	p.Count(len(list))
	for _, s := range list {
		p.Text(s)
	}
}

// ErrPacked reports values that are not what a packer wrote.
var ErrPacked = errors.New("it holds something else than was written")

// Unpacker reads what a packer wrote. After the first fault it returns zeros, and Err returns the fault: the caller
// discards what was read. It allocates at most a few times the size of its input.
type Unpacker struct {
	buf []byte
	err error
}

// NewUnpacker returns an unpacker of what a packer wrote.
func NewUnpacker(b []byte) *Unpacker { return &Unpacker{buf: b} }

// Err returns the first fault.
func (u *Unpacker) Err() error { return u.err }

// Fail records that the values are not what a packer wrote.
func (u *Unpacker) Fail() {
	if u.err == nil {
		u.err = ErrPacked
	}
	u.buf = nil
}

func (u *Unpacker) uint() uint64 {
	v, n := binary.Uvarint(u.buf)
	if n <= 0 {
		u.Fail()
		return 0
	}
	u.buf = u.buf[n:]
	return v
}

// Int reads what Packer.Int wrote.
func (u *Unpacker) Int() int64 {
	v, n := binary.Varint(u.buf)
	if n <= 0 {
		u.Fail()
		return 0
	}
	u.buf = u.buf[n:]
	return v
}

// Below reads an unsigned number below a limit.
func (u *Unpacker) Below(limit int) int {
	v := u.uint()
	if v >= uint64(limit) {
		u.Fail()
		return 0
	}
	return int(v)
}

// Count reads the length of a list whose members take at least a byte each.
func (u *Unpacker) Count() int { return u.Below(len(u.buf) + 1) }

// Byte reads an unsigned number below 256.
func (u *Unpacker) Byte() uint8 { return uint8(u.Below(256)) }

// Bool reads a truth value.
func (u *Unpacker) Bool() bool { return u.Below(2) == 1 }

// Bytes returns a part of the input; nil where it is empty.
func (u *Unpacker) Bytes() []byte {
	n := u.Count()
	if n == 0 {
		return nil
	}
	if n > len(u.buf) { // the number itself took a byte
		u.Fail()
		return nil
	}
	b := u.buf[:n:n]
	u.buf = u.buf[n:]
	return b
}

// Text returns a string that shares its bytes with the input.
func (u *Unpacker) Text() string {
	b := u.Bytes()
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// Texts reads a list of strings, which share their bytes with the input.
func (u *Unpacker) Texts() []string {
	list := make([]string, u.Count())
	for i := range list {
		list[i] = u.Text()
	}
	return list
}

// Bitmap reads a bitmap in the portable format of Roaring; nil where the bytes are empty.
func (u *Unpacker) Bitmap() *roaring.Bitmap {
	text := u.Bytes()
	if text == nil {
		return nil
	}
	b := roaring.New()
	if err := b.UnmarshalBinary(text); err != nil {
		u.Fail()
		return nil
	}
	if err := b.Validate(); err != nil && !b.IsEmpty() {
		u.Fail()
		return nil
	}
	return b
}

// End returns the first fault, or an error if bytes are left over.
func (u *Unpacker) End() error {
	if u.err == nil && len(u.buf) > 0 {
		u.err = fmt.Errorf("%d bytes are left over", len(u.buf))
	}
	return u.err
}

// Raw returns the memory of a list. T must not contain pointers.
func Raw[T any](list []T) []byte {
	var one T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), len(list)*int(unsafe.Sizeof(one)))
}
