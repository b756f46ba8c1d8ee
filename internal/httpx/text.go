package httpx

import (
	"strings"
	"unicode/utf8"
)

// IsText reports whether the store can contain a text that a client sent: UTF-8 without NUL
// characters. No stored object matches any other text, so callers skip the lookup.
func IsText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }
