package read

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// FromUTF16 converts UTF-16 with a byte order mark to UTF-8. It returns other text unchanged.
func FromUTF16(text []byte) []byte {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(text, []byte("\xff\xfe")):
		order = binary.LittleEndian
	case bytes.HasPrefix(text, []byte("\xfe\xff")):
		order = binary.BigEndian
	default:
		return text
	}
	out := make([]byte, 0, len(text))
	unit := func(i int) rune { return rune(order.Uint16(text[i:])) }
	for i := 2; i+1 < len(text); i += 2 {
		r := unit(i)
		if utf16.IsSurrogate(r) && i+3 < len(text) {
			if r = utf16.DecodeRune(r, unit(i+2)); r != utf8.RuneError {
				i += 2
			}
		}
		out = utf8.AppendRune(out, r)
	}
	if len(text)%2 != 0 {
		out = utf8.AppendRune(out, utf8.RuneError)
	}
	return out
}
