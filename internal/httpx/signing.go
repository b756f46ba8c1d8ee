package httpx

import (
	"crypto/hmac"
	"crypto/sha256"
)

// SigningKeys tells the key that signs what the server hands out and takes back, and
// those that signed before it and are still believed. All servers of one database
// share them; they may change while a server runs.
type SigningKeys func() (use []byte, before [][]byte)

// OneKey is a key that stays.
func OneKey(key []byte) SigningKeys { return func() ([]byte, [][]byte) { return key, nil } }

// All lists the keys, the one in use first.
func (k SigningKeys) All() [][]byte {
	use, before := k()
	return append([][]byte{use}, before...)
}

// DeriveKey returns a key of 32 bytes for one purpose, so that what is signed for one is not valid for another.
func DeriveKey(key []byte, purpose string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(purpose))
	return mac.Sum(nil)
}
