package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/config"
)

// desk is what the commands take that people run at their desk: they speak to a
// server with a token, as any client does.
type desk struct {
	URL    string        `help:"Address of the Redoubt server; that of redoubt login by default." env:"REDOUBT_URL" placeholder:"URL"`
	Token  config.Secret `help:"Token with the scope web_api; that of redoubt login by default, better given as a variable." env:"REDOUBT_TOKEN" placeholder:"TOKEN"`
	Output string        `help:"How to print: table, json or csv." enum:"table,json,csv" default:"table" placeholder:"FORMAT"`
}

// deskWait bounds one call.
const deskWait = 2 * time.Minute

// connect finds the server and the deployment of the token.
func (d desk) connect(a *app) (c *api.Client, deployment string, err error) {
	c, me, err := d.signIn(a)
	if err != nil {
		return nil, "", err
	}
	return c, me.Deployment.Slug, nil
}

// signIn finds the server, and who the token is.
func (d desk) signIn(a *app) (c *api.Client, me *api.MeResponse, err error) {
	server, token := d.URL, string(d.Token)
	var kept keptLogin
	if server == "" || token == "" {
		kept, err = readLogin()
		if err != nil {
			return nil, nil, err
		}
		if server != "" && token == "" && !sameServer(server, kept.URL) {
			return nil, nil, fmt.Errorf("there is no token for %s: redoubt login has one for %s; set REDOUBT_TOKEN, or run redoubt login %s", server, cmp.Or(kept.URL, "no server"), server)
		}
		server, token = cmp.Or(server, kept.URL), cmp.Or(token, kept.Token)
	}
	if server == "" || token == "" {
		return nil, nil, errors.New("not signed in: run redoubt login URL, or set REDOUBT_URL and REDOUBT_TOKEN")
	}
	if c, err = deskClient(server, token); err != nil {
		return nil, nil, err
	}
	if kept.Refresh != "" && token == kept.Token && sameServer(server, kept.URL) {
		c.HTTP.Transport = &renewing{next: http.DefaultTransport, clock: a.clock, kept: kept, say: a.err}
	}
	if me, err = c.Me(a.ctx); err != nil {
		return nil, nil, deskAdvice(server, err)
	}
	return c, me, nil
}

func deskClient(server, token string) (*api.Client, error) {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%.200q is no address of a server: expected one as https://redoubt.example", server)
	}
	return &api.Client{BaseURL: strings.TrimSuffix(server, "/"), Token: token, HTTP: &http.Client{Timeout: deskWait}, UserAgent: "redoubt/" + version}, nil
}

func sameServer(a, b string) bool { return strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/") }

// deskAdvice says what to do about a refusal.
func deskAdvice(server string, err error) error {
	var p *api.Problem
	switch {
	case errors.Is(err, errOver):
		return err
	case !errors.As(err, &p):
		return fmt.Errorf("%s cannot be reached: %w", server, err)
	case p.Status == http.StatusUnauthorized:
		return fmt.Errorf("%s does not know this token: it may be revoked or over. Run redoubt login %s", server, server)
	case p.Status == http.StatusForbidden:
		return fmt.Errorf("the token may not do this: %s", p.Detail)
	case p.Status == http.StatusNotFound && p.Code == "":
		return fmt.Errorf("%s is not a Redoubt server: %w", server, err)
	}
	return err
}

// print writes rows as a table or as CSV, or the items that they are of as JSON.
// Columns are words with blanks between them.
func (d desk) print(a *app, columns string, rows [][]string, items any) error {
	switch d.Output {
	case "json":
		enc := json.NewEncoder(a.out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(items)
	case "csv":
		out, err := newCSVList(exact(a.out), columns)
		for _, row := range rows {
			err = errors.Join(err, out.add(listItem{row: row}))
		}
		return errors.Join(err, out.end(true))
	}
	return table(a.out, columns, rows)
}

// project finds the project that a flag names, in any case: an old name leads to it.
func (d desk) project(a *app, client *api.Client, deployment, name string) (*api.Project, error) {
	answer, err := client.GetProject(a.ctx, deployment, name)
	if err == nil {
		return &answer.Project, nil
	}
	if p, ok := errors.AsType[*api.Problem](err); !ok || p.Status != http.StatusNotFound {
		return nil, err
	}
	for p, err := range client.Projects(a.ctx, deployment, api.ProjectsQuery{PageSize: 1000}) {
		if err != nil {
			return nil, err
		}
		if strings.EqualFold(p.Name, name) {
			return &p, nil
		}
	}
	return nil, fmt.Errorf("there is no project %q that you may see; redoubt projects shows what there is", name)
}

// keptLogin is what redoubt login keeps. A token that was made by hand is there alone;
// one that a person let this program have is with what renews it.
type keptLogin struct {
	URL      string    `json:"url"`
	Token    string    `json:"token"`
	Refresh  string    `json:"refresh,omitempty"`
	ClientID string    `json:"client_id,omitempty"`
	Expires  time.Time `json:"expires,omitzero"`
}

// loginFile is where it lies: in the settings of the person, for nobody else to
// read.
func loginFile() (string, error) {
	folder, err := os.UserConfigDir()
	return filepath.Join(folder, "redoubt", "login.json"), err
}

// readLogin reads what is kept; the zero one where nothing is.
func readLogin() (kept keptLogin, err error) {
	name, err := loginFile()
	if err != nil {
		return kept, nil //nolint:nilerr // a machine without such a folder keeps no login
	}
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return kept, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	if err != nil {
		return kept, fmt.Errorf("what redoubt login kept cannot be read; run redoubt logout, then redoubt login again: %w", err)
	}
	return kept, nil
}
