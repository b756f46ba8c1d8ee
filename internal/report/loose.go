package report

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The types here take what tools vary in: numbers as strings, whole numbers
// with a fraction, a string for a list of one, null for absent. None of them
// ever fails to decode; what makes no sense is left empty.

// text is a string, or a number or boolean spelt out.
type text string

// UnmarshalJSON implements json.Unmarshaler.
func (t *text) UnmarshalJSON(b []byte) error {
	*t = ""
	if len(b) == 0 {
		return nil
	}
	switch b[0] {
	case '"':
		*t = text(unquote(b))
	case '{', '[', 'n':
	default:
		*t = text(b)
	}
	return nil
}

// unquote decodes a valid JSON string, quickly when nothing is escaped.
func unquote(b []byte) string {
	if inner := b[1 : len(b)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner)
	}
	var s string
	_ = json.Unmarshal(b, &s) // the decoder has seen it to be valid
	return s
}

// number is a whole number that is not negative; 0 is unknown.
type number int

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(b []byte) error {
	*n = 0
	var t text
	_ = t.UnmarshalJSON(b)
	s := strings.TrimSpace(string(t))
	if i, err := strconv.Atoi(s); err == nil {
		*n = number(min(max(i, 0), math.MaxInt32))
		return nil
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil && f > 0 {
		*n = number(min(f, math.MaxInt32))
	}
	return nil
}

// boolean is a boolean, also as "true" or 1.
type boolean bool

// UnmarshalJSON implements json.Unmarshaler.
func (f *boolean) UnmarshalJSON(b []byte) error {
	var t text
	_ = t.UnmarshalJSON(b)
	*f = boolean(strings.EqualFold(string(t), "true") || t == "1")
	return nil
}

// texts is a list of strings, or a single one.
type texts []string

// UnmarshalJSON implements json.Unmarshaler.
func (l *texts) UnmarshalJSON(b []byte) error {
	*l = nil
	if len(b) == 0 {
		return nil
	}
	if b[0] != '[' {
		var t text
		if _ = t.UnmarshalJSON(b); t != "" {
			*l = texts{string(t)}
		}
		return nil
	}
	var list []text
	_ = json.Unmarshal(b, &list) // text takes any element
	*l = make(texts, 0, len(list))
	for _, t := range list {
		if t != "" {
			*l = append(*l, string(t))
		}
	}
	return nil
}

// first returns the first string, or "".
func (l texts) first() string {
	if len(l) == 0 {
		return ""
	}
	return l[0]
}

// loosely decodes a value that is valid JSON and keeps what fits of it.
func loosely(b []byte, v any) {
	if len(b) > 0 {
		_ = json.Unmarshal(b, v) // a member of another type stays empty
	}
}
