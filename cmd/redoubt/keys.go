package main

import (
	"context"
	"crypto/rand"

	"github.com/redoubt/redoubt/internal/store"
)

// The keys that a store's first process makes and all others share.
const (
	signingKey = "signing key" // of download addresses and cursors
	secretKey  = "secret key"  // of the hashes of secrets in reports (semantics §16)
)

// key reads a key, and makes it the first time.
func key(ctx context.Context, st *store.Store, name string) ([]byte, error) {
	return st.Setting(ctx, name, func() ([]byte, error) {
		k := make([]byte, 32)
		_, err := rand.Read(k)
		return k, err
	})
}
