package httpx

import (
	"crypto/hmac"
	"crypto/sha256"
)

// SigningKeys returns the current signing key and the previous ones that are still accepted. All
// servers of a database share the keys; they may change while a server runs.
type SigningKeys func() (use []byte, before [][]byte)

// OneKey returns a single key that never changes.
func OneKey(key []byte) SigningKeys { return func() ([]byte, [][]byte) { return key, nil } }

// All returns the keys, the current one first.
func (k SigningKeys) All() [][]byte {
	use, before := k()
	return append([][]byte{use}, before...)
}

// DeriveKey returns a key of 32 bytes for one purpose, so that signatures of one purpose are
// invalid for others.
func DeriveKey(key []byte, purpose string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(purpose))
	return mac.Sum(nil)
}
