package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/redoubt/redoubt/internal/auth/oauth"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/cli/webapi"
	"github.com/redoubt/redoubt/internal/config"
)

// LoginCmd signs in to a server.
type LoginCmd struct {
	URL       string        `arg:"" help:"Address of the server, such as https://redoubt.example."`
	Token     config.Secret `help:"Store this token instead of signing in with the browser; - reads standard input or the terminal (default for a pipe)." placeholder:"TOKEN"`
	ReadOnly  bool          `help:"Request read-only access."`
	NoBrowser bool          `help:"Only print the address and code; do not open a browser."`
}

// Run obtains a token, tests it and stores it for later commands. The token is approved in the
// browser or was created on the tokens page.
func (c LoginCmd) Run(a *command.App) error {
	if _, err := webapi.ServerClient(c.URL, ""); err != nil {
		return err
	}
	server := strings.TrimSuffix(c.URL, "/")
	fresh, err := c.token(a, server)
	if err != nil {
		return err
	}
	me, err := fresh.Save(a.Ctx)
	if err != nil {
		return errors.Join(err, fresh.RevokeUnused(a.Ctx))
	}
	fmt.Fprintf(a.Out, "signed in to %s, deployment %s, with the token %q (%s)\n",
		server, me.Deployment.Slug, me.Token.Name, strings.Join(me.Token.Scopes, ", "))
	if fresh.Refresh != "" { // the client registration expires then
		fmt.Fprintf(a.Out, "it is renewed with each use, until %s at most; then run redoubt login again\n",
			a.Clock().Add(oauth.ClientFor).Format(time.DateOnly))
	}
	return nil
}

// token obtains the login to store.
func (c LoginCmd) token(a *command.App, server string) (webapi.Login, error) {
	switch {
	case c.Token != "" && c.Token != "-":
		return webapi.Login{URL: server, Token: string(c.Token)}, nil
	case c.Token == "" && !isPiped(os.Stdin):
		return c.byBrowser(a, server)
	}
	fmt.Fprintf(a.Err, "Create a token with the required scopes on the tokens page, %s/orgs/-/settings/tokens, "+
		"and paste it here.\nToken: ", server)
	text, err := readSecret(os.Stdin)
	fmt.Fprintln(a.Err)
	if err != nil {
		return webapi.Login{}, fmt.Errorf("read the token: %w", err)
	}
	return webapi.Login{URL: server, Token: text}, nil
}

// isPiped reports whether in is a pipe or a file, and not a terminal or /dev/null.
func isPiped(in *os.File) bool {
	info, err := in.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice == 0
}

// maxTyped is the maximum length of a typed token in bytes.
const maxTyped = 4096

// readSecret reads a line. A terminal does not show the input.
func readSecret(in *os.File) (string, error) {
	if term.IsTerminal(int(in.Fd())) {
		text, err := term.ReadPassword(int(in.Fd()))
		return strings.TrimSpace(string(text)), err
	}
	text, err := bufio.NewReader(io.LimitReader(in, maxTyped)).ReadString('\n')
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if text = strings.TrimSpace(text); text == "" && err == nil {
		err = errors.New("standard input is empty: write the token as one line")
	}
	return text, err
}

// LogoutCmd signs out.
type LogoutCmd struct{}

// Run deletes the stored login and revokes a token that was approved in the browser. A token from
// the tokens page may be in use elsewhere and is not revoked.
func (LogoutCmd) Run(a *command.App) error {
	name, err := webapi.LoginFile()
	if err == nil {
		_, err = os.Stat(name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		_, err = fmt.Fprintln(a.Out, "not signed in")
		return err
	}
	if err != nil {
		return err
	}
	unlock, err := webapi.LockLogin(a.Ctx)
	if err != nil {
		return err
	}
	defer unlock()
	stored, broken := webapi.ReadLogin()
	if err := os.Remove(name); err != nil {
		return err
	}
	if broken != nil || stored.Refresh == "" {
		_, err = fmt.Fprintln(a.Out, "signed out; the token is valid until it is revoked on the tokens page")
		return err
	}
	if err := stored.Revoke(a.Ctx); err != nil {
		return fmt.Errorf("signed out locally, but %s did not revoke the token: revoke it on its tokens page: %w",
			stored.URL, err)
	}
	_, err = fmt.Fprintln(a.Out, "signed out; the token was revoked")
	return err
}
