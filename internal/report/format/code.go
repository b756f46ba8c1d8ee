package format

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/redoubt/redoubt/internal/report/read"
)

// CodeOf returns what is kept of code that a report tells and, where that may not be all,
// a hash of all of it, whatever its layout: what is cut off tells findings apart as well.
func CodeOf(told read.Text) (code, hash string) {
	code = told.Block()
	if len(code) > read.MaxBlock-utf8.UTFMax {
		hash = CodeHash(strings.Join(strings.Fields(string(told)), " "))
	}
	return code, hash
}

// CodeHash is the scanner's code_hash.
func CodeHash(context string) string {
	sum := sha256.Sum256([]byte(context))
	return hex.EncodeToString(sum[:])
}
