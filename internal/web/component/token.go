package component

import (
	"context"
	"slices"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// CreatedToken returns a token that was just created, and its secret on the first call, to the
// token's owner. The token is zero if none was created or it has expired.
func CreatedToken(req *ui.Request, path string) (token model.Token, text string, err error) {
	id, secret := req.ShownOnce(path)
	if id == 0 {
		return token, "", nil
	}
	err = req.View(func(ctx context.Context, tx *store.Tx) error {
		me, err := tx.Member(ctx, req.Viewer.User)
		if err != nil {
			return err
		}
		all, err := tx.Tokens(ctx)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(all, func(t model.Token) bool { return t.ID == id && t.UserID == me.ID })
		if at < 0 || !all[at].Active(req.Clock()) {
			return nil
		}
		token, text = all[at], secret // the secret was sealed for this id
		return nil
	})
	return token, text, err
}

// CreateToken stores a token that belongs to the viewer.
func CreateToken(req *ui.Request, token model.Token, secret auth.Secret) (model.Token, error) {
	err := req.Update(func(ctx context.Context, tx *store.Tx) error {
		owner, err := tx.Member(ctx, req.Viewer.User)
		if err != nil {
			return err
		}
		token.UserID = owner.ID
		token, err = tx.CreateToken(ctx, token, secret.Hash)
		return err
	})
	return token, err
}
