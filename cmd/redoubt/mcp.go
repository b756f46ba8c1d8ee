package main

import (
	"os"
	"slices"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/about"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/cli/webapi"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/mcp"
)

type mcpCmd struct {
	URL   string        `help:"Address of the Redoubt server (default: from redoubt login)." env:"REDOUBT_URL" placeholder:"URL"`
	Token config.Secret `help:"Token with the scope web_api; add read_only to prevent changes. Prefer the variable (default: from redoubt login)." env:"REDOUBT_TOKEN" placeholder:"TOKEN"`
}

// Run serves an assistant on standard input and output until its end.
func (c mcpCmd) Run(a *command.App) error {
	client, me, err := webapi.Reach{URL: c.URL, Token: c.Token}.SignIn(a)
	if err != nil {
		return err
	}
	client.UserAgent = "redoubt-mcp/" + about.Version
	server := mcp.New(mcp.Config{
		Client: client, Deployment: me.Deployment.Slug, Caller: me.Token.ID,
		MayWrite: mayWrite(me), Changes: mcp.NewChanges(a.Clock), Version: about.Version,
	})
	if err := server.Run(a.Ctx, mcp.Stdio(os.Stdin, os.Stdout)); a.Ctx.Err() == nil {
		return err
	}
	return nil // canceled by the user
}

// mayWrite reports whether the server accepts writes with a token.
func mayWrite(me *api.MeResponse) bool {
	return !slices.Contains(me.Token.Scopes, "read_only") && (me.User == nil || me.User.Role != "viewer")
}
