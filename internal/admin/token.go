package admin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// TokenCmd manages tokens.
type TokenCmd struct {
	Create tokenCreateCmd `cmd:"" help:"Create a token and print it once."`
	List   TokenListCmd   `cmd:"" help:"List the tokens."`
	Revoke tokenRevokeCmd `cmd:"" help:"Revoke a token; servers refuse it within a second."`

	Requests TokenRequestsCmd `cmd:"" help:"List the scanners that wait for a token after semgrep login."`
	Approve  tokenApproveCmd  `cmd:"" help:"Approve a scanner that waits for a token after semgrep login."`
}

type tokenCreateCmd struct {
	command.Tenant
	Name    string        `arg:"" help:"What the token is for."`
	Scope   []string      `help:"Scopes: web_api (the Web API), ci (upload scans and imports), read_only (with web_api: no changes), runner (take managed runs)." enum:"web_api,ci,read_only,runner" required:"" placeholder:"SCOPE"`
	Project []string      `help:"Limit the token to projects that match: * matches one segment, ** any number. It sees no other project." placeholder:"GLOB"`
	Expires time.Duration `help:"Lifetime of the token, as 720h; by default it does not expire."`
	Dialect string        `help:"Shape of the answers: contract (openapi.json), or hosted for clients of the hosted service (docs/guides/clients.md)." enum:"contract,hosted" default:"contract"`
	User    string        `help:"Owner of the token: it can do no more than this user, and is revoked with them." placeholder:"NAME"`
}

// Run creates the token. Only its secret is written to standard output.
func (c tokenCreateCmd) Run(a *command.App) error {
	var made model.Token
	err := c.Update(a, func(ctx context.Context, tx *store.Tx) (text string, err error) {
		token, err := c.token(tx.Now())
		if err != nil {
			return "", err
		}
		if c.User != "" {
			member, err := tx.Member(ctx, c.User)
			if err != nil {
				return "", fmt.Errorf("there is no user %q in %s; redoubt user list shows who there is",
					c.User, tx.Deployment().Slug)
			}
			token.UserID = member.ID
		}
		text, made, err = command.CreateToken(ctx, tx, token)
		return text, err
	})
	if err == nil {
		fmt.Fprintf(a.Err, "token %s (%s); the text above is shown this once\n", made.PublicID, made.Name)
	}
	return err
}

// token validates the flags.
func (c tokenCreateCmd) token(now time.Time) (model.Token, error) {
	token := model.Token{Name: model.Line(c.Name), ProjectGlobs: c.Project, Dialect: model.Dialect(c.Dialect)}
	for _, scope := range c.Scope {
		token.Scopes = append(token.Scopes, model.Scope(scope))
	}
	if token.Has(model.ScopeReadOnly) && !token.Has(model.ScopeWebAPI) {
		return token, errors.New("read_only narrows web_api: give both, as --scope web_api,read_only")
	}
	if c.Expires < 0 {
		return token, errors.New("--expires is in the past")
	}
	if c.Expires > 0 {
		token.ExpiresAt = now.Add(c.Expires)
	}
	return token, nil
}

// TokenListCmd lists tokens.
type TokenListCmd struct{ command.Tenant }

// Run lists the tokens, including revoked ones.
func (c TokenListCmd) Run(a *command.App) error {
	return c.View(a, func(ctx context.Context, tx *store.Tx) error {
		tokens, err := tx.Tokens(ctx)
		if err != nil {
			return err
		}
		rows := make([][]string, len(tokens))
		for i, t := range tokens {
			rows[i] = []string{
				t.PublicID, t.Name, scopes(t), globs(t), tokenStatus(t, a.Clock()),
				command.Day(t.CreatedAt), command.Day(t.LastUsedAt), string(t.Dialect),
			}
		}
		return command.Table(a.Out, "ID NAME SCOPES PROJECTS STATE CREATED USED DIALECT", rows)
	})
}

func scopes(t model.Token) string {
	words := make([]string, len(t.Scopes))
	for i, s := range t.Scopes {
		words[i] = string(s)
	}
	return strings.Join(words, ",")
}

func globs(t model.Token) string {
	if len(t.ProjectGlobs) == 0 {
		return "all"
	}
	return strings.Join(t.ProjectGlobs, ",")
}

func tokenStatus(t model.Token, now time.Time) string {
	switch {
	case !t.RevokedAt.IsZero():
		return "revoked"
	case t.Ended(now):
		return "expired"
	case !t.RenewableUntil.IsZero():
		return "renewable until " + command.Day(t.RenewableUntil)
	case !t.ExpiresAt.IsZero():
		return "until " + command.Day(t.ExpiresAt)
	}
	return "active"
}

type tokenRevokeCmd struct {
	command.Tenant
	Token string `arg:"" help:"The token's id or name, as redoubt token list shows it."`
}

// Run revokes the token.
func (c tokenRevokeCmd) Run(a *command.App) error {
	return c.Update(a, func(ctx context.Context, tx *store.Tx) (string, error) {
		token, err := tx.Token(ctx, c.Token)
		if errors.Is(err, model.ErrNotFound) {
			return "", fmt.Errorf("there is no token %q; redoubt token list shows what there is", c.Token)
		}
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("revoked %s (%s)", token.PublicID, token.Name), tx.RevokeToken(ctx, token.ID)
	})
}
