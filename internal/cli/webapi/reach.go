// Package webapi connects commands to the Web API of a server, or of a database on this machine. It
// stores the login of redoubt login and renews its token. It prints lists and changes as tables,
// JSON and CSV.
package webapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/about"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/store"
)

// Flags are the flags of commands that call the Web API and print its responses.
type Flags struct {
	Reach
	Output string `help:"Output format: table, json or csv." enum:"table,json,csv" default:"table" placeholder:"FORMAT"`
}

// Reach selects how commands call the Web API: over the network with a token, or in this process
// with a database. The rules are in docs/guides/command-line.md.
type Reach struct {
	URL   string        `help:"Address of the Redoubt server (default: from redoubt login)." env:"REDOUBT_URL" placeholder:"URL"`
	Token config.Secret `help:"Token with the scope web_api; prefer the variable (default: from redoubt login)." env:"REDOUBT_TOKEN" placeholder:"TOKEN"`

	config.Storage `embed:"" set:"default_data="` // if set, a database is used

	Deployment string `help:"Id or slug of the deployment; optional with a server or a single deployment." env:"REDOUBT_DEPLOYMENT" placeholder:"SLUG"`
}

// callWait is the timeout of a request.
const callWait = 2 * time.Minute

// Help describes the choice between a server and a database.
func (Reach) Help() string {
	return "With --data or --database-url, the command uses the database. " +
		"Otherwise it uses the server of --url or redoubt login. Without a server, it uses the database in " +
		config.DefaultData + ", if it exists."
}

// Connect returns the client and the slug of the deployment.
func (r Reach) Connect(a *command.App) (c *api.Client, deployment string, err error) {
	return r.ConnectWith(a, command.Senders{})
}

// ConnectWith is Connect for commands that send requests or messages elsewhere.
func (r Reach) ConnectWith(a *command.App, to command.Senders) (c *api.Client, deployment string, err error) {
	direct, err := r.usesDatabase()
	if err != nil {
		return nil, "", err
	}
	if direct {
		return a.OpenInProcess(a, r.Storage, r.Deployment, to)
	}
	c, me, err := r.SignIn(a)
	if err != nil {
		return nil, "", err
	}
	if d := me.Deployment; r.Deployment != "" && r.Deployment != d.Slug && r.Deployment != fmt.Sprint(d.ID) {
		return nil, "", fmt.Errorf("the token belongs to deployment %s, not to --deployment %s: use a token of the latter",
			d.Slug, r.Deployment)
	}
	return c, me.Deployment.Slug, nil
}

// usesDatabase reports whether a database is used instead of a server.
func (r Reach) usesDatabase() (bool, error) {
	switch {
	case r.Data == "" && r.DatabaseURL == "":
	case r.URL != "":
		return false, errors.New("both a database (--data or --database-url) and a server (--url) are set: choose one, " +
			"and check the variables REDOUBT_DATA, REDOUBT_DATABASE_URL and REDOUBT_URL")
	default:
		return true, nil
	}
	if r.URL != "" || r.Token != "" {
		return false, nil
	}
	if stored, err := ReadLogin(); err != nil || stored.URL != "" {
		return false, err
	}
	_, err := os.Stat(filepath.Join(config.DefaultData, store.FileName))
	return err == nil, nil
}

// SignIn returns a client of the server, and the token's identity.
func (r Reach) SignIn(a *command.App) (c *api.Client, me *api.MeResponse, err error) {
	server, token := r.URL, string(r.Token)
	var stored Login
	if server == "" || token == "" {
		stored, err = ReadLogin()
		if err != nil {
			return nil, nil, err
		}
		if server != "" && token == "" && !sameServer(server, stored.URL) {
			return nil, nil, fmt.Errorf("no token for %s: redoubt login stored one for %s; set REDOUBT_TOKEN, or run "+
				"redoubt login %s", server, cmp.Or(stored.URL, "no server"), server)
		}
		server, token = cmp.Or(server, stored.URL), cmp.Or(token, stored.Token)
	}
	if server == "" || token == "" {
		return nil, nil, errors.New("not signed in: run redoubt login URL, or set REDOUBT_URL and REDOUBT_TOKEN; " +
			"on the server's machine, set the database with --data or --database-url")
	}
	if c, err = ServerClient(server, token); err != nil {
		return nil, nil, err
	}
	if stored.Refresh != "" && token == stored.Token && sameServer(server, stored.URL) {
		c.HTTP.Transport = &renewing{next: http.DefaultTransport, clock: a.Clock, stored: stored, messages: a.Err}
	}
	if me, err = c.Me(a.Ctx); err != nil {
		return nil, nil, serverAdvice(server, err)
	}
	return c, me, nil
}

// ServerClient returns a client of a server.
func ServerClient(server, token string) (*api.Client, error) {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("invalid server address %.200q: use an address such as https://redoubt.example", server)
	}
	return &api.Client{
		BaseURL:   strings.TrimSuffix(server, "/"),
		Token:     token,
		HTTP:      &http.Client{Timeout: callWait},
		UserAgent: "redoubt/" + about.Version,
	}, nil
}

func sameServer(a, b string) bool { return strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/") }

// serverAdvice adds advice to a server's error.
func serverAdvice(server string, err error) error {
	var p *api.Problem
	switch {
	case errors.Is(err, errOver):
		return err
	case !errors.As(err, &p):
		return fmt.Errorf("cannot reach %s: %w", server, err)
	case p.Status == http.StatusUnauthorized:
		return fmt.Errorf("%s rejected the token, which may be revoked or expired: run redoubt login %s", server, server)
	case p.Status == http.StatusForbidden:
		return fmt.Errorf("permission denied: %s", p.Detail)
	case p.Status == http.StatusNotFound && p.Code == "":
		return fmt.Errorf("%s is not a Redoubt server: %w", server, err)
	}
	return err
}

// Print writes rows as a table or as CSV, or items as JSON. columns are separated by spaces.
func (w Flags) Print(a *command.App, columns string, rows [][]string, items any) error {
	switch w.Output {
	case "json":
		enc := json.NewEncoder(a.Out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(items)
	case "csv":
		out, err := newCSVList(command.Exact(a.Out), columns)
		for _, row := range rows {
			err = errors.Join(err, out.Add(Item{Row: row}))
		}
		return errors.Join(err, out.End(true))
	}
	return command.Table(a.Out, columns, rows)
}

// PrintChange prints a sentence about a change for the format table, or else the item.
func (w Flags) PrintChange(a *command.App, sentence, columns string, row []string, item any) error {
	if w.Output != "table" {
		return w.Print(a, columns, [][]string{row}, item)
	}
	_, err := fmt.Fprintln(a.Out, sentence)
	return err
}
