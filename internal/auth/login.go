package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

// loginEncoding has no digits that resemble letters.
var loginEncoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// LoginCode returns the user-readable code for a scanner's token request with a key. It has eight
// letters and digits, such as ABCD-2345. It is keyed by the server, so that requests with a chosen
// code cannot be forged and the request key cannot be derived.
func LoginCode(serverKey []byte, requestKey string) string {
	mac := hmac.New(sha256.New, serverKey)
	mac.Write([]byte("login code " + requestKey))
	text := loginEncoding.EncodeToString(mac.Sum(nil)[:5])
	return text[:4] + "-" + text[4:]
}

// typed replaces digits that resemble letters. Codes do not contain these digits.
var typed = strings.NewReplacer("0", "O", "1", "I", "8", "B", " ", "", "-", "")

// TidyLoginCode returns the stored form of a typed code.
func TidyLoginCode(text string) string {
	text = typed.Replace(strings.ToUpper(strings.TrimSpace(text)))
	if len(text) != 8 {
		return text
	}
	return text[:4] + "-" + text[4:]
}
