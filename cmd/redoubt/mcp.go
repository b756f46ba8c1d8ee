package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/mcp"
)

type mcpCmd struct {
	URL   string        `help:"Address of the Redoubt server." env:"REDOUBT_URL" placeholder:"URL"`
	Token config.Secret `help:"Token with the scope web_api; better given as a variable. With read_only the assistant can change nothing." env:"REDOUBT_TOKEN" placeholder:"TOKEN"`
}

// Run answers an assistant on standard input and output until it hangs up.
func (c mcpCmd) Run(a *app) error {
	if c.URL == "" || c.Token == "" {
		return errors.New("the server is not named: set REDOUBT_URL to its address and REDOUBT_TOKEN to a token of it (redoubt token create --scope web_api,read_only NAME)")
	}
	client := &api.Client{BaseURL: strings.TrimSuffix(c.URL, "/"), Token: string(c.Token), UserAgent: "redoubt-mcp/" + version}
	me, err := client.Me(a.ctx)
	if err != nil {
		return fmt.Errorf("ask %s who the token is: %w", c.URL, err)
	}
	server := mcp.New(mcp.Config{
		Client: client, Deployment: me.Deployment.Slug, Caller: me.Token.ID, MayWrite: mayWrite(me), Changes: mcp.NewChanges(a.clock), Version: version,
	})
	if err := server.Run(a.ctx, &sdk.StdioTransport{}); a.ctx.Err() == nil {
		return err
	}
	return nil // somebody stopped it
}

// mayWrite reports whether the server would take writes of a token.
func mayWrite(me *api.MeResponse) bool {
	return !slices.Contains(me.Token.Scopes, "read_only") && (me.User == nil || me.User.Role != "viewer")
}
