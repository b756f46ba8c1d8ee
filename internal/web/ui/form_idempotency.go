package ui

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// onceText returns a random name for a rendered form. A form that is sent twice, by a double click
// or a reload, is executed once.
func onceText() string { return rand.Text() }

// SendOnce runs do unless the actor sent the form with this name in the last day. A form without a
// name always runs. Names are stored like the idempotency keys of the Web API, under a prefix that
// those cannot have.
func SendOnce(ctx context.Context, tx *store.Tx, name string, do func() error) error {
	if name == "" {
		return do()
	}
	by := tx.Actor()
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", by.Kind, by.ID, name))
	key := "form " + hex.EncodeToString(sum[:])
	_, err := tx.StoredAnswer(ctx, key)
	if !errors.Is(err, model.ErrNotFound) {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	return tx.StoreAnswer(ctx, model.StoredAnswer{Key: key, Request: sum[:], Answer: []byte{}})
}
