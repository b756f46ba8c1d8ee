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
	List   TokenListCmd   `cmd:"" help:"List tokens."`
	Revoke tokenRevokeCmd `cmd:"" help:"Revoke a token; takes effect within a second."`

	Requests TokenRequestsCmd `cmd:"" help:"List token requests from semgrep login."`
	Approve  tokenApproveCmd  `cmd:"" help:"Approve a token request from semgrep login."`
}

type tokenCreateCmd struct {
	command.Tenant
	Name    string        `arg:"" help:"Name of the token, such as its purpose."`
	Scope   []string      `help:"Scopes: web_api (the Web API), ci (upload scans and imports), read_only (with web_api: no changes), runner (run managed scans)." enum:"web_api,ci,read_only,runner" required:"" placeholder:"SCOPE"`
	Project []string      `help:"Limit the token to matching projects: * is one segment, ** any number." placeholder:"GLOB"`
	Expires time.Duration `help:"Lifetime of the token, such as 720h (default: unlimited)."`
	Dialect string        `help:"Response format: contract (openapi.json), or hosted for clients of the hosted service." enum:"contract,hosted" default:"contract"`
	User    string        `help:"Owner; limits the token's permissions and lifetime." placeholder:"NAME"`
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
				return "", fmt.Errorf("user %q not found in %s: run redoubt user list",
					c.User, tx.Deployment().Slug)
			}
			token.UserID = member.ID
		}
		text, made, err = command.CreateToken(ctx, tx, token)
		return text, err
	})
	if err == nil {
		fmt.Fprintf(a.Err, "created token %s (%s); the token above is shown only once\n", made.PublicID, made.Name)
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
		return token, errors.New("read_only requires web_api: use --scope web_api,read_only")
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
	Token string `arg:"" help:"Id or name of the token (see redoubt token list)."`
}

// Run revokes the token.
func (c tokenRevokeCmd) Run(a *command.App) error {
	return c.Update(a, func(ctx context.Context, tx *store.Tx) (string, error) {
		token, err := tx.Token(ctx, c.Token)
		if errors.Is(err, model.ErrNotFound) {
			return "", fmt.Errorf("token %q not found: run redoubt token list", c.Token)
		}
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("revoked %s (%s)", token.PublicID, token.Name), tx.RevokeToken(ctx, token.ID)
	})
}
