package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

// loginEncoding has no letter that is taken for a digit.
var loginEncoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// LoginCode is what people call a request for a token that a scanner made with
// a key: eight letters and digits, as ABCD-2345, that may be said aloud. Under
// the server's key, so that nobody can make up a request with the code of
// another one, or find its key.
func LoginCode(serverKey []byte, requestKey string) string {
	mac := hmac.New(sha256.New, serverKey)
	mac.Write([]byte("login code " + requestKey))
	text := loginEncoding.EncodeToString(mac.Sum(nil)[:5])
	return text[:4] + "-" + text[4:]
}

// typed turns what people type for a letter into it: a code has no digit that is
// taken for one.
var typed = strings.NewReplacer("0", "O", "1", "I", "8", "B", " ", "", "-", "")

// TidyLoginCode is a code as it is kept, however somebody typed it.
func TidyLoginCode(text string) string {
	text = typed.Replace(strings.ToUpper(strings.TrimSpace(text)))
	if len(text) != 8 {
		return text
	}
	return text[:4] + "-" + text[4:]
}
