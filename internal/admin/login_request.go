package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// TokenRequestsCmd lists the login requests of scanners.
type TokenRequestsCmd struct{ config.Storage }

// Run lists the pending requests of scanners and applications.
func (c TokenRequestsCmd) Run(a *command.App) error {
	st, err := a.Open(c.Storage)
	if err != nil {
		return err
	}
	waiting, err := st.Logins(a.Ctx)
	if err != nil {
		return errors.Join(err, st.Close())
	}
	rows := make([][]string, len(waiting))
	for i, l := range waiting {
		rows[i] = []string{
			l.Code, command.Day(l.RequestedAt), command.Day(l.ExpiresAt),
			cmp.Or(l.Address, "-"), cmp.Or(l.Program.Name, l.Agent, "-"),
		}
	}
	return errors.Join(command.Table(a.Out, "CODE REQUESTED EXPIRES ADDRESS CLIENT", rows), st.Close())
}

type tokenApproveCmd struct {
	command.Tenant
	Code    string        `arg:"" help:"Code on the page of semgrep login, such as ABCD-2345."`
	Name    string        `help:"Name of the token (default: semgrep login and the code)."`
	Project []string      `help:"Limit the token to matching projects: * is one segment, ** any number." placeholder:"GLOB"`
	Expires time.Duration `help:"Lifetime of the token, such as 720h (default: unlimited)."`
}

// Run approves the request; the scanner fetches its token within seconds.
func (c tokenApproveCmd) Run(a *command.App) error {
	code := auth.TidyLoginCode(c.Code)
	create := tokenCreateCmd{
		Name:  cmp.Or(c.Name, "semgrep login "+code),
		Scope: []string{string(model.ScopeCI)}, Project: c.Project, Expires: c.Expires,
	}
	return c.Update(a, func(ctx context.Context, tx *store.Tx) (string, error) {
		token, err := create.token(tx.Now())
		if err != nil {
			return "", err
		}
		l, err := tx.WaitingLogin(ctx, code)
		if err != nil {
			return "", err
		}
		if l.ByProgram() {
			return "", model.Invalid("code", "%s belongs to a program that needs a user's approval, not to a scanner: "+
				"the user opens the page /device that the program shows", code)
		}
		return fmt.Sprintf("approved %s: %s at %s receives the token %q of deployment %s, with the scope ci, "+
				"on its next request",
				l.Code, cmp.Or(l.Agent, "a scanner"), cmp.Or(l.Address, "an unknown address"), token.Name, tx.Deployment().Slug),
			tx.ApproveLogin(ctx, l, token)
	})
}
