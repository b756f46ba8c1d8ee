package format

import (
	"strings"
	"unicode/utf8"
)

// AsUTF8 reads bytes as Semgrep does: what is no UTF-8 becomes a replacement character
// for each beginning of a character that breaks off, and for each other byte.
func AsUTF8(raw string) string {
	if utf8.ValidString(raw) {
		return raw
	}
	var out strings.Builder
	for raw != "" {
		r, size := utf8.DecodeRuneInString(raw)
		if r == utf8.RuneError && size == 1 {
			size = brokenOff(raw)
		}
		out.WriteRune(r)
		raw = raw[size:]
	}
	return out.String()
}

// brokenOff is how many bytes at the front of text, which begins with no character, are
// the beginning of one; at least 1.
func brokenOff(s string) int {
	size, low, high := 1, byte(0x80), byte(0xBF) // of the character, and of its second byte
	switch first := s[0]; {
	case first >= 0xC2 && first <= 0xDF:
		size = 2
	case first >= 0xE0 && first <= 0xEF:
		size = 3
	case first >= 0xF0 && first <= 0xF4:
		size = 4
	}
	switch s[0] {
	case 0xE0:
		low = 0xA0
	case 0xED:
		high = 0x9F
	case 0xF0:
		low = 0x90
	case 0xF4:
		high = 0x8F
	}
	n := 1
	for ; n < min(size, len(s)) && s[n] >= low && s[n] <= high; n++ {
		low, high = 0x80, 0xBF
	}
	return n
}
