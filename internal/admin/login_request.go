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
			l.Code, command.Day(l.AskedAt), command.Day(l.ExpiresAt),
			cmp.Or(l.Address, "-"), cmp.Or(l.Program.Name, l.Agent, "-"),
		}
	}
	return errors.Join(command.Table(a.Out, "CODE ASKED EXPIRES ADDRESS CLIENT", rows), st.Close())
}

type tokenApproveCmd struct {
	command.Tenant
	Code    string        `arg:"" help:"The code that the page of semgrep login shows, as ABCD-2345."`
	Name    string        `help:"What the token is for; semgrep login and the code by default."`
	Project []string      `help:"Limit the token to projects that match: * matches one segment, ** any number." placeholder:"GLOB"`
	Expires time.Duration `help:"Lifetime of the token, as 720h; by default it does not expire."`
}

// Run approves the request; the scanner fetches its token within seconds.
func (c tokenApproveCmd) Run(a *command.App) error {
	code := auth.TidyLoginCode(c.Code)
	asked := tokenCreateCmd{
		Name:  cmp.Or(c.Name, "semgrep login "+code),
		Scope: []string{string(model.ScopeCI)}, Project: c.Project, Expires: c.Expires,
	}
	return c.Update(a, func(ctx context.Context, tx *store.Tx) (string, error) {
		token, err := asked.token(tx.Now())
		if err != nil {
			return "", err
		}
		l, err := tx.WaitingLogin(ctx, code)
		if err != nil {
			return "", err
		}
		if l.ByProgram() {
			return "", model.Invalid("code", "%s is of a program that asks a person, and no scanner: whom it shall act for "+
				"opens the page that the program names, /device", code)
		}
		return fmt.Sprintf("approved %s: %s at %s gets the token %q of deployment %s, with the scope ci, when it asks next",
				l.Code, cmp.Or(l.Agent, "a scanner"), cmp.Or(l.Address, "an unknown address"), token.Name, tx.Deployment().Slug),
			tx.ApproveLogin(ctx, l, token)
	})
}
