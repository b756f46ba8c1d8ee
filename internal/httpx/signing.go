package httpx

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
