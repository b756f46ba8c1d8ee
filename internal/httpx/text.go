package httpx

import (
	"strings"
	"unicode/utf8"
)

// IsText reports whether the store can hold what a client sent: UTF-8 without
// zero bytes. Nothing else is ever there, so nobody asks the store for it.
func IsText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }
