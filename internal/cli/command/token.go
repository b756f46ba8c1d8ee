package command

import (
	"context"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// CreateToken creates a token of the transaction's deployment and returns its secret.
func CreateToken(ctx context.Context, tx *store.Tx, token model.Token) (string, model.Token, error) {
	secret := auth.NewSecret(tx.Deployment().ID)
	token.PublicID = secret.PublicID
	made, err := tx.CreateToken(ctx, token, secret.Hash)
	return secret.Text, made, err
}
