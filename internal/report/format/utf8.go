package format

import (
	"strings"
	"unicode/utf8"
)

// AsUTF8 converts bytes to UTF-8 as Semgrep does. Each truncated character and each other invalid
// byte becomes a replacement character.
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

// brokenOff returns the number of bytes at the start of s that form a truncated character, at least
// 1. s must not begin with a valid character.
func brokenOff(s string) int {
	size, low, high := 1, byte(0x80), byte(0xBF) // size of the character, and bounds of its second byte
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
