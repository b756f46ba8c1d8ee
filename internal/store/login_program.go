package store

import (
	"context"

	"github.com/redoubt/redoubt"
)

// programText is what is kept of a program that waits; nothing for a scanner.
func programText(l redoubt.LoginRequest) string {
	if !l.ByProgram() {
		return ""
	}
	return encoded(l.Program)
}

// programImage is what the audit trail tells of a decision about a program.
type programImage struct {
	Code    string      `json:"code"`
	Address string      `json:"address"`
	Agent   string      `json:"agent"`
	Program string      `json:"program"`
	Token   *tokenImage `json:"token,omitempty"` // none where it was not let in
}

// ApproveProgram lets the program that waits under a code fetch a token of this
// deployment, as described, which it can renew. A code that no program waits under is
// redoubt.ErrNotFound. Where the person has as many tokens, or as many programs, as
// there may be, it is redoubt.ErrConflict or a *redoubt.InvalidError, and the
// request waits on.
func (tx *Tx) ApproveProgram(ctx context.Context, code string, token redoubt.Token) error {
	l, err := tx.waitingProgram(ctx, code)
	if err != nil {
		return err
	}
	if err := tx.roomForLogin(ctx, token.UserID); err != nil {
		return err
	}
	if err := tx.roomForGrant(ctx, token.UserID); err != nil {
		return err
	}
	token.DeploymentID = tx.deployment.ID
	l.Token = token
	if err := tx.decideLogin(ctx, &l); err != nil {
		return err
	}
	image := imageOfToken(token)
	tx.audit("login.approve", subject("deployment", tx.deployment.ID), nil, programImage{l.Code, l.Address, l.Agent, l.Program.Name, &image})
	return nil
}

// DenyProgram has the program that waits under a code be told that nobody lets it
// in. A code that no program waits under is redoubt.ErrNotFound.
func (tx *Tx) DenyProgram(ctx context.Context, code string) error {
	l, err := tx.waitingProgram(ctx, code)
	if err != nil {
		return err
	}
	l.Program.Denied = true
	if err := tx.decideLogin(ctx, &l); err != nil {
		return err
	}
	tx.audit("login.deny", subject("deployment", tx.deployment.ID), nil, programImage{l.Code, l.Address, l.Agent, l.Program.Name, nil})
	return nil
}

func (tx *Tx) waitingProgram(ctx context.Context, code string) (redoubt.LoginRequest, error) {
	l, err := tx.waitingLogin(ctx, code)
	if err == nil && !l.ByProgram() {
		err = redoubt.ErrNotFound
	}
	return l, err
}
