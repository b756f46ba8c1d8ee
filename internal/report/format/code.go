package format

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/redoubt/redoubt/internal/report/read"
)

// CodeOf returns the truncated code of a report. If code may be truncated, hash is a hash of the
// whole code without its layout, so that findings differ by the rest as well.
func CodeOf(text read.Text) (code, hash string) {
	code = text.Block()
	if len(code) > read.MaxBlock-utf8.UTFMax {
		hash = CodeHash(strings.Join(strings.Fields(string(text)), " "))
	}
	return code, hash
}

// CodeHash returns the scanner's code_hash.
func CodeHash(context string) string {
	sum := sha256.Sum256([]byte(context))
	return hex.EncodeToString(sum[:])
}
