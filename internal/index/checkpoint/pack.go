package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"github.com/RoaringBitmap/roaring/v2"
)

// Packer encodes values in sequence.
type Packer struct{ buf []byte }

// Packed returns the encoded bytes.
func (p *Packer) Packed() []byte { return p.buf }

// Uint writes an unsigned integer.
func (p *Packer) Uint(v uint64) { p.buf = binary.AppendUvarint(p.buf, v) }

// Int writes a signed integer.
func (p *Packer) Int(v int64) { p.buf = binary.AppendVarint(p.buf, v) }

// Count writes the length of a list.
func (p *Packer) Count(n int) { p.Uint(uint64(n)) }

// Bool writes a Boolean value.
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

// ErrPacked reports bytes that a Packer did not write.
var ErrPacked = errors.New("its content differs from the written content")

// Unpacker decodes the values of a Packer. After the first error it returns zero values, and Err
// returns the error. Then the caller must discard all values. It allocates at most a few times the
// size of its input.
type Unpacker struct {
	buf []byte
	err error
}

// NewUnpacker returns an Unpacker for bytes from a Packer.
func NewUnpacker(b []byte) *Unpacker { return &Unpacker{buf: b} }

// Err returns the first error.
func (u *Unpacker) Err() error { return u.err }

// Fail sets ErrPacked as the error, unless there is an earlier one.
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

// Int reads a signed integer.
func (u *Unpacker) Int() int64 {
	v, n := binary.Varint(u.buf)
	if n <= 0 {
		u.Fail()
		return 0
	}
	u.buf = u.buf[n:]
	return v
}

// Below reads an unsigned integer below a limit.
func (u *Unpacker) Below(limit int) int {
	v := u.uint()
	if v >= uint64(limit) {
		u.Fail()
		return 0
	}
	return int(v)
}

// Count reads the length of a list whose elements have at least one byte each.
func (u *Unpacker) Count() int { return u.Below(len(u.buf) + 1) }

// Byte reads an unsigned integer below 256.
func (u *Unpacker) Byte() uint8 { return uint8(u.Below(256)) }

// Bool reads a Boolean value.
func (u *Unpacker) Bool() bool { return u.Below(2) == 1 }

// Bytes reads bytes, which share the input's memory. It returns nil if they are empty.
func (u *Unpacker) Bytes() []byte {
	n := u.Count()
	if n == 0 {
		return nil
	}
	if n > len(u.buf) { // possible because the length itself occupies a byte
		u.Fail()
		return nil
	}
	b := u.buf[:n:n]
	u.buf = u.buf[n:]
	return b
}

// Text reads a string, which shares the input's memory.
func (u *Unpacker) Text() string {
	b := u.Bytes()
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// Texts reads a list of strings, which share the input's memory.
func (u *Unpacker) Texts() []string {
	list := make([]string, u.Count())
	for i := range list {
		list[i] = u.Text()
	}
	return list
}

// Bitmap reads a bitmap in the portable Roaring format. It returns nil if the bytes are empty.
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

// End returns the first error, or an error if input remains.
func (u *Unpacker) End() error {
	if u.err == nil && len(u.buf) > 0 {
		u.err = fmt.Errorf("%d bytes are left over", len(u.buf))
	}
	return u.err
}

// Raw returns the memory of a slice. T must not contain pointers.
func Raw[T any](list []T) []byte {
	var one T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), len(list)*int(unsafe.Sizeof(one)))
}
