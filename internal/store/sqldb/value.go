package sqldb

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/redoubt/redoubt/internal/model"
)

// Bind converts Go values to SQL arguments. Times become microseconds since 1970 in UTC (NULL if
// zero), booleans 1 or 0, and digests bytes.
//
// PostgreSQL text cannot contain NUL bytes or invalid UTF-8. Both are replaced by U+FFFD on both
// engines, so external input cannot fail an upload or behave differently on one engine.
func Bind(args []any) []any {
	out := make([]any, len(args))
	for i, arg := range args {
		switch v := arg.(type) {
		case string:
			out[i] = CleanText(v)
		case time.Time:
			if !v.IsZero() {
				out[i] = v.UnixMicro()
			}
		case bool:
			out[i] = 0
			if v {
				out[i] = 1
			}
		case model.Digest:
			out[i] = v[:]
		case NextID:
			out[i] = v
		default:
			out[i] = plain(arg)
		}
	}
	return out
}

// plain converts enumerations to numbers and named strings to strings. Drivers would otherwise call
// their String methods.
func plain(arg any) any {
	switch v := reflect.ValueOf(arg); v.Kind() {
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return int64(v.Uint())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return v.Int()
	case reflect.String:
		return CleanText(v.String())
	}
	return arg
}

// CleanText replaces invalid UTF-8 and NUL, which PostgreSQL text cannot contain, by U+FFFD.
func CleanText(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "\uFFFD")
	}
	return s
}

// CleanList converts a list as Bind converts single values.
func CleanList(values any) any {
	switch list := values.(type) {
	case []string:
		out := make([]string, len(list))
		for i, s := range list {
			out[i] = CleanText(s)
		}
		return out
	case []model.Digest:
		out := make([][]byte, len(list))
		for i := range list {
			out[i] = list[i][:]
		}
		return out
	}
	return values
}

// Scanner is a function that scans one column.
type Scanner func(src any) error

// Scan implements sql.Scanner.
func (s Scanner) Scan(src any) error { return s(src) }

// Instant scans a time; NULL is the zero time.
func Instant(t *time.Time) Scanner {
	return func(src any) error {
		switch v := src.(type) {
		case nil:
			*t = time.Time{}
		case int64:
			*t = time.UnixMicro(v).UTC()
		default:
			return fmt.Errorf("a time is stored as %T", src)
		}
		return nil
	}
}

// Digest scans a digest.
func Digest(d *model.Digest) Scanner {
	return func(src any) error {
		b, ok := src.([]byte)
		if !ok || len(b) != len(d) {
			return fmt.Errorf("a digest is stored as %T of %d bytes", src, len(b))
		}
		copy(d[:], b)
		return nil
	}
}

// Decoded scans JSON into v.
func Decoded(v any) Scanner {
	return func(src any) error {
		switch text := src.(type) {
		case string:
			return json.Unmarshal([]byte(text), v)
		case []byte:
			return json.Unmarshal(text, v)
		}
		return fmt.Errorf("JSON is stored as %T", src)
	}
}

// DecodedIfAny scans JSON into v, and leaves v unchanged if the column is empty.
func DecodedIfAny(v any) Scanner {
	return func(src any) error {
		if src == "" {
			return nil
		}
		return Decoded(v)(src)
	}
}

// Encoded returns v as JSON. It panics if v cannot be encoded, which is a programming error.
func Encoded(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("store: encode %T: %v", v, err))
	}
	return string(text)
}

// NoNil returns an empty slice in place of nil, which would be stored as NULL.
func NoNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// OrEmpty returns an empty list in place of nil, so that JSON contains [] instead of null.
func OrEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
