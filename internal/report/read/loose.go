package read

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The types in this file accept the variations of tools, such as numbers as strings or a single
// string instead of a list. Decoding never fails; an invalid value results in the zero value.

// Text is a string. Numbers and booleans are converted.
type Text string

// UnmarshalJSON implements json.Unmarshaler.
func (t *Text) UnmarshalJSON(b []byte) error {
	*t = ""
	if len(b) == 0 {
		return nil
	}
	switch b[0] {
	case '"':
		*t = Text(Unquote(b))
	case '{', '[', 'n':
	default:
		*t = Text(b)
	}
	return nil
}

// Unquote decodes a valid JSON string. It is fast if the string has no escapes.
func Unquote(b []byte) string {
	if inner := b[1 : len(b)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner)
	}
	var s string
	_ = json.Unmarshal(b, &s) // the decoder has validated it
	return s
}

// Number is a non-negative integer; 0 is unknown.
type Number int

// UnmarshalJSON implements json.Unmarshaler.
func (n *Number) UnmarshalJSON(b []byte) error {
	*n = 0
	var t Text
	_ = t.UnmarshalJSON(b)
	s := strings.TrimSpace(string(t))
	if i, err := strconv.Atoi(s); err == nil {
		*n = Number(min(max(i, 0), math.MaxInt32))
		return nil
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil && f > 0 {
		*n = Number(min(f, math.MaxInt32))
	}
	return nil
}

// Boolean is a boolean, also as "true" or 1.
type Boolean bool

// UnmarshalJSON implements json.Unmarshaler.
func (f *Boolean) UnmarshalJSON(b []byte) error {
	var t Text
	_ = t.UnmarshalJSON(b)
	*f = Boolean(strings.EqualFold(string(t), "true") || t == "1")
	return nil
}

// Texts is a list of strings, or a single string.
type Texts []string

// UnmarshalJSON implements json.Unmarshaler.
func (l *Texts) UnmarshalJSON(b []byte) error {
	*l = nil
	if len(b) == 0 {
		return nil
	}
	if b[0] != '[' {
		var t Text
		if _ = t.UnmarshalJSON(b); t != "" {
			*l = Texts{string(t)}
		}
		return nil
	}
	var list []Text
	_ = json.Unmarshal(b, &list) // Text accepts any element
	*l = make(Texts, 0, len(list))
	for _, t := range list {
		if t != "" {
			*l = append(*l, string(t))
		}
	}
	return nil
}

// First returns the first string, or "".
func (l Texts) First() string {
	if len(l) == 0 {
		return ""
	}
	return l[0]
}

// Loosely decodes valid JSON and ignores members of another type.
func Loosely(b []byte, v any) {
	if len(b) > 0 {
		_ = json.Unmarshal(b, v) // a member of another type is not set
	}
}
