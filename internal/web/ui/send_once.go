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

// onceText names a form as it is shown: sent twice, by a double click or a reload, it is
// done once.
func onceText() string { return rand.Text() }

// SendOnce does what a form asks for, unless the actor sent that very form in the last day.
// One without a name is done each time. The name is kept as the keys of the Web API are, where
// none of those can be.
func SendOnce(ctx context.Context, tx *store.Tx, name string, do func() error) error {
	if name == "" {
		return do()
	}
	by := tx.Actor()
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", by.Kind, by.ID, name))
	key := "form " + hex.EncodeToString(sum[:])
	_, err := tx.KeptAnswer(ctx, key)
	if !errors.Is(err, model.ErrNotFound) {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	return tx.KeepAnswer(ctx, model.KeptAnswer{Key: key, Request: sum[:], Answer: []byte{}})
}
